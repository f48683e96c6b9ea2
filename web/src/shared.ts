// What several views show at once: who waits, which sessions there are; kept fresh by the server's news.
import { useEffect, useRef, useState } from "preact/hooks";
import { api } from "./api";
import { parseSent } from "./exact";
import type { AgentEvent, Info, OpenCall, Pending, Place, Session, Task } from "./types";

interface Shared {
  info: Info | null;
  sessions: Session[];
  tasks: Task[];
  pending: OpenCall[];
  online: boolean;
}

let shared: Shared = { info: null, sessions: [], tasks: [], pending: [], online: true };
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

/** Whether a question has its answer though the log does not say so: the run takes it when nothing else is waited for. */
export function useAnswered(place: Place, id: string, asked: Pending | undefined): boolean {
  const callId = asked?.call_id;
  const seen = useRef<{ callId?: string; read: number }>({ read: 0 });
  // A list that was read before the question was known here cannot tell.
  if (seen.current.callId !== callId) seen.current = { callId, read: begunReads };
  useEffect(() => { if (callId !== undefined) void refresh(); }, [callId]);
  useWatch(callId !== undefined);
  return callId !== undefined && shownRead > seen.current.read
    && !shared.pending.some((call) => call.place === place && call.id === id && call.pending.call_id === callId);
}

export async function loadInfo(): Promise<void> {
  set({ info: await api.info() });
}

/** Read the lists anew; several wishes within a moment become one. */
export const refresh = once(async () => {
  const read = ++begunReads;
  const wanted = shared.info?.features.tasks ? api.tasks() : Promise.resolve([]);
  const [sessions, pending, tasks] = await Promise.all([api.sessions(), api.pending(), wanted]);
  shownRead = read;
  set({ sessions, pending, tasks });
  // Another page may have chosen another model.
  if (shared.info && shared.info.models.length > 1) await loadInfo();
}, 150);

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
