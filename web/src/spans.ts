// Works out from events what ran when: turns of the model, calls, and the time spent waiting.
import { outcomeOf } from "./outcome";
import type { AgentEvent, Pending } from "./types";

export interface Span {
  key: string;
  kind: "turn" | "call" | "wait";
  label: string;
  depth: number;
  from: number;
  /** 0 while it is still going on. */
  to: number;
  tone: "turn" | "ok" | "failed" | "error" | "denied" | "wait" | "busy";
  /** What it waits for. */
  asked?: Pending;
}
export interface RunSpans { key: string; title: string; from: number; to: number; spans: Span[] }

const depthOf = (path: string) => (path ? path.split("/").length : 0);
const join = (path: string, id: string) => (path ? `${path}/${id}` : id);

export function runsOf(events: AgentEvent[]): RunSpans[] {
  const runs: RunSpans[] = [];
  const open = new Map<string, Span>();
  /** The calls that wait while the run goes on: a result does not end that. */
  const unawaited = new Set<string>();
  let run: RunSpans | null = null;
  let before = 0;
  // Counted here: a run that went on after an answer counts its turns from one again.
  let turns = 0;
  const begin = (id: string, span: Span) => { open.set(id, span); run?.spans.push(span); };
  const mark = ({ call_id, blocking }: Pending) => { if (blocking === false) unawaited.add(baseId(call_id)); else unawaited.delete(baseId(call_id)); };
  const end = (id: string, at: number, tone?: Span["tone"]) => {
    const span = open.get(id);
    if (!span) return;
    span.to = at;
    if (tone) span.tone = tone;
    open.delete(id);
  };
  /** End what nobody goes on with; a call may still bring its result, if it waits for one. */
  const leave = (at: number, fits: (address: string, span: Span) => boolean) => {
    for (const [id, span] of open) {
      const address = id.slice(id.indexOf(" ") + 1);
      const left = unawaited.has(address) ? "wait" : "error";
      if (fits(address, span)) end(id, at, span.kind === "call" ? left : undefined);
    }
  };
  const isWork = (_: string, span: Span) => span.kind !== "wait";
  for (const event of events) {
    const path = event.path ?? "";
    const depth = depthOf(path);
    const span = (kind: Span["kind"], label: string, tone: Span["tone"]): Span =>
      ({ key: `${event.seq}`, kind, label, depth, from: event.at, to: 0, tone });
    // A call that has to wait, or is refused, does so before it starts.
    const called = (id: string, name: string) => { if (!open.has(`call ${id}`)) begin(`call ${id}`, span("call", name, "busy")); };
    switch (event.type) {
      case "run_started":
        if (path) break;
        if (run && event.message) {
          // What it left behind when it paused, or died, goes on no more.
          run.to ||= before;
          leave(before, isWork);
        }
        if (event.message || !run) {
          turns = 0;
          runs.push((run = { key: `${event.seq}`, title: titleOf(event), from: event.at, to: 0, spans: [] }));
        }
        run.to = 0;
        break;
      case "turn_started":
        end(`turn ${path}`, before);
        begin(`turn ${path}`, span("turn", path ? event.agent : `Turn ${++turns}`, "turn"));
        break;
      case "model_replied": end(`turn ${path}`, event.at); break;
      case "tool_started": called(join(path, event.call.call_id), event.call.name); break;
      case "pending_opened": {
        const { call_id, name, blocking } = event.pending;
        if (blocking !== false) called(baseId(call_id), name);
        mark(event.pending);
        end(`wait ${baseId(call_id)}`, event.at);
        begin(`wait ${baseId(call_id)}`, { ...span("wait", `${name} waits`, "wait"), depth: depth + 1, asked: event.pending });
        break;
      }
      case "pending_changed": {
        const { call_id, name, blocking } = event.pending;
        const id = baseId(call_id);
        mark(event.pending);
        // What its function asked first is answered: it waits for its result again.
        if (blocking !== false && open.has(`call ${id}`) && !open.has(`wait ${id}`)) {
          begin(`wait ${id}`, { ...span("wait", `${name} waits`, "wait"), depth: depth + 1, asked: event.pending });
        }
        break;
      }
      case "pending_answered":
        end(`wait ${baseId(event.call_id)}`, event.at);
        unawaited.delete(baseId(event.call_id));
        break;
      case "tool_ended": {
        const id = join(path, event.result.call_id);
        const outcome = outcomeOf(event.result);
        called(id, event.result.name);
        if (outcome === "pending") break;
        end(`call ${id}`, event.at, outcome);
        // So does what was going on inside it.
        leave(event.at, (address, inner) => (address === id || address.startsWith(`${id}/`)) && !(inner.kind === "wait" && unawaited.has(address)));
        break;
      }
      case "run_ended":
        if (path || !run) break;
        run.to = event.at;
        if (event.status === "paused") break;
        leave(event.at, isWork);
        run = null;
        break;
    }
    before = event.at;
  }
  return runs;
}

/** Whether something in it is still going on, or waits. */
export const isGoing = (run: RunSpans): boolean => !run.to || run.spans.some((span) => !span.to);

/** When the last of it was over; `now` for what is not. */
export const endOf = (run: RunSpans, now: number): number =>
  run.spans.reduce((last, span) => Math.max(last, span.to || now), Math.max(run.from, run.to || now));

/** `call~2` is the second question of the same call. */
const baseId = (id: string) => id.replace(/~\d+$/, "");

function titleOf(event: AgentEvent & { type: "run_started" }): string {
  const text = event.message?.parts.map((part) => (part.kind === "text" ? part.text : "")).join(" ").trim();
  return text ? text.slice(0, 120) : "Run";
}
