// What several views show at once: who waits, which sessions there are; kept fresh by the server's news.
import { useEffect, useState } from "preact/hooks";
import { api, serverNow } from "./api";
import { parseSent } from "./exact";
import type { AgentEvent, Info, OpenCall, Pending, Place, Session, Task } from "./types";

interface Lists {
  sessions: Session[];
  tasks: Task[];
  pending: OpenCall[];
}
interface Shared extends Lists {
  info: Info | null;
  /** Why a list could not be read: what is shown of it is old, or nothing. */
  unread: { [list in keyof Lists]?: string };
  /** What waits has been read at least once. */
  known: boolean;
  online: boolean;
}

let shared: Shared = { info: null, sessions: [], tasks: [], pending: [], unread: {}, known: false, online: true };
const watchers = new Set<() => void>();

function set(change: Partial<Shared>): void {
  shared = { ...shared, ...change };
  for (const watcher of watchers) watcher();
}

export function useShared(): Shared {
  useWatch(true);
  return shared;
}

function useWatch(wanted: boolean): void {
  const [, draw] = useState(0);
  useEffect(() => {
    if (!wanted) return;
    const watcher = () => draw((n) => n + 1);
    watchers.add(watcher);
    return () => { watchers.delete(watcher); };
  }, [wanted]);
}

/** How often the lists were begun to be read, and which of these readings they are from. */
let begunReads = 0, shownRead = 0;

/** How often the lists had been begun to be read when a question was first known here. */
const knownAt = new Map<string, number>();

/** Whether a question has its answer though the log does not say so: the run takes it when nothing else is waited for. */
export function isAnswered(place: Place, id: string, asked: Pending | undefined): boolean {
  return isSettled(place, id, asked) && !isExpired(asked!);
}

/** Whether a question waits for nobody any more: it was answered, or its deadline has passed. */
export function isSettled(place: Place, id: string, asked: Pending | undefined): boolean {
  if (!asked) return false;
  if (isExpired(asked)) return true;
  const key = `${place}/${id}/${asked.call_id}`;
  // A list that was read before the question was known here cannot tell.
  if (!knownAt.has(key)) knownAt.set(key, begunReads);
  return shownRead > knownAt.get(key)!
    && !shared.pending.some((call) => call.place === place && call.id === id && call.pending.call_id === asked.call_id);
}

/** By the server's clock, for that is what decides. */
const isExpired = ({ deadline }: Pending) => deadline !== undefined && deadline !== null && deadline <= serverNow();

export function useAnswered(place: Place, id: string, asked: Pending | undefined): boolean {
  const callId = asked?.call_id;
  const answered = isAnswered(place, id, asked);
  useEffect(() => { if (callId !== undefined) void refresh(); }, [callId]);
  useWatch(callId !== undefined);
  return answered;
}

/** Whether a person has stopped the session's last run, and something has come since. */
export function useCanGoOn(place: Place, id: string): boolean {
  useWatch(place === "session");
  return place === "session" && shared.sessions.some((session) => session.id === id && session.can_go_on);
}

export async function loadInfo(): Promise<void> {
  set({ info: await api.info() });
}

/** Read the lists anew; several wishes within a moment become one. */
export const refresh = once(async () => {
  const read = ++begunReads;
  const wanted = shared.info?.features.tasks ? api.tasks() : Promise.resolve([]);
  const unread: Shared["unread"] = {};
  // Each may be in a database of its own: what one of them refuses is not missing in the others.
  const tried = <T>(list: keyof Lists, reading: Promise<T>) =>
    reading.catch((error: unknown) => { unread[list] = error instanceof Error ? error.message : String(error); return undefined; });
  const [sessions, pending, tasks] = await Promise.all(
    [tried("sessions", api.sessions()), tried("pending", api.pending()), tried("tasks", wanted)]);
  if (pending) shownRead = read;
  set({ sessions: sessions ?? shared.sessions, pending: pending ?? shared.pending, tasks: tasks ?? shared.tasks, known: shownRead > 0, unread });
  refreshWhenDue(shared.pending, Object.keys(unread).length > 0);
  // Another page may have chosen another model.
  if (shared.info && shared.info.models.length > 1) await loadInfo();
}, 150);

let due = 0;

/** No news comes of a deadline that passes, nor of a database that is back: then the lists are read again. */
function refreshWhenDue(pending: OpenCall[], again: boolean): void {
  clearTimeout(due);
  const left = pending.flatMap(({ pending: { deadline } }) => (deadline && deadline > serverNow() ? [deadline - serverNow()] : []));
  const next = Math.min(...left, again ? AGAIN_SECONDS : Infinity);
  if (next < MOST_WAITED) due = window.setTimeout(() => void refresh(), next * 1000 + 500);
}

const AGAIN_SECONDS = 5;
/** Timers take no more than 24 days. */
const MOST_WAITED = 86_400;

export function forgetPending(place: Place, id: string, callId: string): void {
  set({ pending: shared.pending.filter((c) => c.place !== place || c.id !== id || c.pending.call_id !== callId) });
}

interface Notice { kind: Place; id: string; event: AgentEvent }

/** Listen to the server's news for as long as the page is open. */
export function listen(): () => void {
  let source: EventSource;
  let timer = 0;
  const connect = () => {
    source = new EventSource("api/stream");
    source.onopen = () => set({ online: true });
    source.addEventListener("reload", () => void refresh());
    source.onmessage = (message: MessageEvent<string>) => notice(parseSent<Notice>(message.data));
    source.onerror = () => {
      set({ online: false });
      if (source.readyState === EventSource.CLOSED) timer = window.setTimeout(connect, 1000);
    };
  };
  connect();
  return () => { clearTimeout(timer); source.close(); };
}

function notice({ kind, id, event }: Notice): void {
  if (event.type === "pending_answered") forgetPending(kind, id, event.call_id);
  // A result may close the calls of its session that wait; one that the run goes on without stays open.
  if (event.type !== "tool_ended" || shared.pending.some((call) => call.place === kind && call.id === id)) void refresh();
}

function once(work: () => Promise<void>, ms: number): () => Promise<void> {
  let next: Promise<void> | null = null;
  return () => {
    next ??= new Promise<void>((resolve) => setTimeout(resolve, ms)).then(() => {
      next = null;
      return work().catch(() => undefined);
    });
    return next;
  };
}
