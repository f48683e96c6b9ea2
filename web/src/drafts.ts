// What a person has begun to write, in the message box and in cards: kept while they look at other parts of the page.
import { useState } from "preact/hooks";
import type { Pending, Place } from "./types";

/** By what it is written for. In memory only: nothing of it outlives the page. */
const kept = new Map<string, unknown>();

/** State that is still there when the same thing is drawn again. */
export function useDraft<T>(key: string, initial: T): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => (kept.has(key) ? (kept.get(key) as T) : initial));
  return [value, (next) => { kept.set(key, next); setValue(next); }];
}

export function keepDraft(key: string, value: unknown): void {
  kept.set(key, value);
}

/** Forget what was written for a call, which it has got, or will not get. */
export function dropDrafts(of: string): void {
  for (const key of kept.keys()) if (key.startsWith(`${of}/`)) kept.delete(key);
}

export const messageTo = (id: string) => `message/${id}`;
/** A question, which has the same name in the conversation and in the Inbox. */
export const questionOf = (place: Place, id: string, { call_id, key }: Pending) => `answer/${place}/${id}/${key || call_id}`;
