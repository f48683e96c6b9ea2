// What a person has begun to write, in the message box and in cards: kept while they look at other parts of the
// page, and over a reload of it. Credentials are never kept, and other secrets not over a reload.
import { useState } from "preact/hooks";
import { isObject, parse, same, stringify } from "./exact";
import type { Json, JsonObject, OpenCall, Pending, Place } from "./types";

/** Of this page alone: others may be mounted elsewhere on the same server. */
const HERE = `toolwright-draft ${location.pathname} `;
const SECRET = "secret/";
/** By what it is written for. */
const kept = new Map<string, Json>(stored());

/** State that is still there when the same thing is drawn again. Setting it may keep another value in its place:
 * null keeps none, nor does a draft without a key. */
export function useDraft<T>(key: string | undefined, initial: T | (() => T)): [T, (value: T, toKeep?: T | null) => void] {
  const [first] = useState<T>(initial);
  const [value, setValue] = useState<T>(() => (key !== undefined && kept.has(key) ? (kept.get(key) as T) : first));
  return [value, (next, toKeep = next) => {
    setValue(next);
    if (key === undefined) return;
    if (toKeep === null || same(toKeep as Json, first as Json)) forget(key);
    else keepDraft(key, toKeep as Json);
  }];
}

export function keepDraft(key: string, value: Json): void {
  kept.set(key, value);
  if (key.startsWith(SECRET)) return;
  try {
    sessionStorage.setItem(HERE + key, stringify(value));
  } catch {
    // There is no more room, or the browser allows none: then it lasts as long as the page.
    unstore(key);
  }
}

/** Forget what was written for a call, which it has got, or will not get. */
export function dropDrafts(of: string): void {
  for (const key of [...kept.keys()]) if (key.startsWith(`${of}/`)) forget(key);
}

/** Forget all that was written in a session or task that is deleted. */
export function dropDraftsIn(place: Place, id: string): void {
  if (place === "session") forget(messageTo(id));
  for (const of of ["answer", `${SECRET}answer`, "begun"]) dropDrafts(`${of}/${place}/${id}`);
  const begun = (kept.get(BEGUN_IN_INBOX) ?? []) as unknown as OpenCall[];
  keepDraft(BEGUN_IN_INBOX, begun.filter((call) => call.place !== place || call.id !== id) as unknown as Json);
}

export const messageTo = (id: string) => `message/${id}`;
/** A question, which has the same name in the conversation and in the Inbox. */
export const questionOf = (place: Place, id: string, pending: Pending) =>
  `${isSecret(pending) ? SECRET : ""}answer/${place}/${id}/${pending.key || pending.call_id}`;
export const BEGUN_IN_INBOX = "inbox/begun";

/** Whether what is written for it is nobody else's to see. */
export const isSecret = ({ kind, schema, parameters }: Pending) =>
  kind === "credential" || asksForSecrets([schema ?? null, parameters ?? null]);

function asksForSecrets(schema: Json): boolean {
  if (Array.isArray(schema)) return schema.some(asksForSecrets);
  if (!isObject(schema)) return false;
  return schema.writeOnly === true || schema.format === "password" || Object.values(schema as JsonObject).some(asksForSecrets);
}

function forget(key: string): void {
  kept.delete(key);
  unstore(key);
}

function unstore(key: string): void {
  try {
    sessionStorage.removeItem(HERE + key);
  } catch {
    // The browser allows no storage: nothing was stored.
  }
}

/** What an earlier page of this tab has kept. */
function stored(): [string, Json][] {
  try {
    return Object.keys(sessionStorage).filter((name) => name.startsWith(HERE))
      .map((name): [string, Json] => [name.slice(HERE.length), parse(sessionStorage.getItem(name)!)]);
  } catch {
    return [];
  }
}
