// Works out from events what ran when: turns of the model, calls, and the time spent waiting.
import { outcomeOf } from "./outcome";
import type { AgentEvent } from "./types";

export interface Span {
  key: string;
  kind: "turn" | "call" | "wait";
  label: string;
  depth: number;
  from: number;
  /** 0 while it is still going on. */
  to: number;
  tone: "turn" | "ok" | "failed" | "error" | "denied" | "wait" | "busy";
}
export interface RunSpans { key: string; title: string; from: number; to: number; spans: Span[] }

const depthOf = (path: string) => (path ? path.split("/").length : 0);
const join = (path: string, id: string) => (path ? `${path}/${id}` : id);

export function runsOf(events: AgentEvent[]): RunSpans[] {
  const runs: RunSpans[] = [];
  const open = new Map<string, Span>();
  let run: RunSpans | null = null;
  // Counted here: a run that went on after an answer counts its turns from one again.
  let turns = 0;
  const begin = (id: string, span: Span) => { open.set(id, span); run?.spans.push(span); };
  const end = (id: string, at: number, tone?: Span["tone"]) => {
    const span = open.get(id);
    if (!span) return;
    span.to = at;
    if (tone) span.tone = tone;
    open.delete(id);
  };
  const baseId = (id: string) => id.replace(/~\d+$/, "");
  for (const event of events) {
    const path = event.path ?? "";
    const depth = depthOf(path);
    const span = (kind: Span["kind"], label: string, tone: Span["tone"]): Span =>
      ({ key: `${event.seq}`, kind, label, depth, from: event.at, to: 0, tone });
    // A call that has to wait, or is refused, does so before it starts.
    const called = (id: string, name: string) => { if (!open.has(id)) begin(id, span("call", name, "busy")); };
    switch (event.type) {
      case "run_started":
        if (!path && (event.message || !run)) turns = 0;
        if (!path && (event.message || !run)) runs.push((run = { key: `${event.seq}`, title: titleOf(event), from: event.at, to: 0, spans: [] }));
        break;
      case "turn_started": begin(`turn ${path}`, span("turn", path ? event.agent : `Turn ${++turns}`, "turn")); break;
      case "model_replied": end(`turn ${path}`, event.at); break;
      case "tool_started": called(join(path, event.call.call_id), event.call.name); break;
      case "pending_opened":
        if (event.pending.blocking !== false) called(baseId(event.pending.call_id), event.pending.name);
        begin(`wait ${event.pending.call_id}`, { ...span("wait", `${event.pending.name} waits`, "wait"), depth: depth + 1 });
        break;
      case "pending_answered": end(`wait ${event.call_id}`, event.at); break;
      case "tool_ended": {
        const id = join(path, event.result.call_id);
        end(`wait ${id}`, event.at);
        const outcome = outcomeOf(event.result);
        called(id, event.result.name);
        if (outcome !== "pending") end(id, event.at, outcome);
        break;
      }
      case "run_ended":
        if (!path && event.status === "stopped") for (const [id, at] of open) if (at.tone === "busy") end(id, event.at, "error");
        if (!path && run) { run.to = event.at; if (event.status !== "paused") run = null; } break;
    }
    if (run && !path) run.to = 0;
    if (event.type === "run_ended" && !path && runs.length) runs[runs.length - 1]!.to = event.at;
  }
  return runs;
}

function titleOf(event: AgentEvent & { type: "run_started" }): string {
  const text = event.message?.parts.map((part) => (part.kind === "text" ? part.text : "")).join(" ").trim();
  return text ? text.slice(0, 120) : "Run";
}
