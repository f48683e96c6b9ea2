// Turns a log of events into what a person reads: messages, turns, calls, ends.
// Blocks are replaced, never changed in place, so that only what is new is drawn again.
import type { Arrived } from "./follow";
import { isObject } from "./exact";
import { outcomeOf, type Outcome } from "./outcome";
import type { AgentEvent, Content, Json, JsonObject, Pending, RunStatus, ToolResult, Usage } from "./types";

export type CallState = "writing" | "running" | "waiting" | "ok" | "failed" | "error" | "denied" | "interrupted";

export interface Call {
  /** Unique in the session: the ids of the calls around it come first. */
  id: string;
  name: string;
  arguments: string;
  state: CallState;
  progress: string;
  result?: ToolResult;
  pending?: Pending;
  /** It has asked something, whatever came of that. */
  asked?: boolean;
  /** It asked something, and ended without an answer. */
  closed?: boolean;
  /** What came of it after the model had gone on without it. */
  update?: string;
  traceback?: string;
  startedAt: number;
  endedAt: number;
  elapsed: number;
  inner: Block[];
}

export interface Said { kind: "said"; key: string; seq: number; parts: Content[]; at: number; steered: boolean }
export interface Turn {
  kind: "turn";
  key: string;
  seq: number;
  agent: string;
  /** The path of whoever wrote it. */
  path: string;
  /** It is of a workflow's step, and not of a call: who it is cannot be told from where it stands. */
  isStep: boolean;
  model: string;
  text: string;
  reasoning: string;
  images: Content[];
  calls: Call[];
  usage?: Usage;
  at: number;
  endedAt: number;
  writing: boolean;
  /** Where to cut the log so that a branch keeps this turn and all that came of it. */
  cut: number;
}
export interface Ended {
  kind: "ended"; key: string; seq: number; status: RunStatus; reason: string; usage: Usage; at: number;
}
export interface Note { kind: "note"; key: string; seq: number; text: string; detail?: string; at: number }
export type Block = Said | Turn | Ended | Note;

const join = (path: string, id: string) => (path ? `${path}/${id}` : id);

export class Conversation {
  blocks: Block[] = [];
  /** The last event's number; where a branch that keeps everything is cut. */
  seq = 0;
  running = false;
  state: JsonObject = {};
  usage: Usage = { input_tokens: 0, output_tokens: 0, cached_tokens: 0, cache_write_tokens: 0, reasoning_tokens: 0, cost: 0, requests: 0 };
  artifacts = 0;
  private inner = new Map<string, Block[]>();
  /** Where each call stands: the path of its list of blocks and the index of its turn. */
  private places = new Map<string, { path: string; turn: number }>();

  applyAll(batch: Arrived[]): void {
    for (const { event, whole } of batch) this.apply(event, whole);
  }

  /** Forget unfinished texts: the server sends them anew after each connection. */
  forgetDrafts(): void {
    for (const [home, blocks] of this.lists()) {
      blocks.forEach((turn, index) => {
        if (turn.kind === "turn" && turn.writing) this.replace(home, index, { ...turn, text: "", reasoning: "", calls: [] });
      });
    }
  }

  apply(event: AgentEvent, whole = false): void {
    if (event.seq) this.seq = event.seq;
    const path = event.path ?? "";
    switch (event.type) {
      case "run_started":
        if (!path) this.running = true;
        // A step of a workflow reads what the person has said, and the steps before it.
        if (event.message && !this.isStep(path)) this.say(event, event.message.parts, false);
        else if (!path) this.goOn();
        break;
      case "steered":
        if (event.call_id) this.tell(event, event.call_id);
        else this.say(event, event.message.parts, true);
        break;
      case "turn_started":
        this.push(path, newTurn(event, this.isStep(path)));
        break;
      case "text_delta":
        this.write(event, (turn) => ({ ...turn, text: whole ? event.text : turn.text + event.text }));
        break;
      case "reasoning_delta":
        this.write(event, (turn) => ({ ...turn, reasoning: whole ? event.text : turn.reasoning + event.text }));
        break;
      case "call_delta":
        this.write(event, (turn) => writeCall(turn, event, whole));
        break;
      case "model_replied":
        this.reply(event);
        break;
      case "tool_started":
        this.change(join(path, event.call.call_id), (call) => ({
          ...call, state: "running", startedAt: call.startedAt || event.at,
          arguments: event.call.arguments || call.arguments,
        }));
        break;
      case "tool_progress":
        this.change(join(path, event.call_id), (call) => ({ ...call, progress: addLine(call.progress, event.text) }));
        break;
      case "pending_opened":
        this.change(baseId(event.pending.call_id), (call) => ({ ...call, state: "waiting", pending: event.pending, asked: true, update: undefined }));
        this.merge(event.actions?.state_delta);
        break;
      case "pending_changed":
        this.change(baseId(event.pending.call_id), (call) => {
          if (call.pending) return { ...call, pending: event.pending };
          // What its function asked first is answered: it waits for its result again.
          const waits = call.state === "running" && event.pending.blocking;
          return waits ? { ...call, state: "waiting", pending: event.pending } : call;
        });
        break;
      case "pending_answered":
        this.change(baseId(event.call_id), (call) => answered(call, event));
        break;
      case "tool_ended":
        this.change(join(path, event.result.call_id), (call) => ended(call, event));
        this.merge(event.actions?.state_delta);
        if (event.actions?.artifact_delta && Object.keys(event.actions.artifact_delta).length) this.artifacts++;
        break;
      case "state_changed":
        this.merge(event.delta);
        break;
      case "transferred":
        this.push(path, note(event, `${event.to_agent} has the conversation now`));
        break;
      case "history_compacted":
        this.push(path, note(event, "The beginning of the conversation was summarized for the model"));
        break;
      case "run_ended":
        this.endRun(event);
        break;
    }
  }

  /** A run goes on: its end is none any more, and a reply that was cut off is written anew. */
  private goOn(): void {
    const last = this.blocks.at(-1);
    if (last?.kind !== "ended") return;
    this.blocks.pop();
    const turn = this.blocks.at(-1);
    if (last.status === "stopped" && turn?.kind === "turn" && !turn.usage) this.blocks.pop();
  }

  private endRun(event: AgentEvent & { type: "run_ended" }): void {
    if (event.path) return;
    this.running = false;
    this.usage = sum(this.usage, event.usage);
    if (event.status === "stopped") this.interrupt();
    // An agent of one's own may answer without a model.
    const isSaid = this.blocks.slice(this.blocks.findLastIndex((block) => block.kind === "said") + 1).some((block) => block.kind === "turn");
    if (event.text && !isSaid) this.push("", { ...newTurn(event), text: event.text });
    const last = this.blocks.length - 1;
    this.blocks.forEach((turn, index) => {
      if (turn.kind === "turn" && (turn.writing || index === last)) this.replace("", index, { ...turn, writing: false, cut: event.seq });
    });
    const { seq, at, status, reason, usage } = event;
    this.push("", { kind: "ended", key: `e${seq}`, seq, at, status, reason, usage });
  }

  /** What was running has no end of its own: whoever goes on with the session says what became of it. */
  private interrupt(): void {
    for (const [id, { path, turn }] of this.places) {
      const state = (this.list(path)[turn] as Turn).calls.find((call) => call.id === id)?.state;
      if (state === "running" || state === "writing") this.change(id, (call) => ({ ...call, state: "interrupted" }));
    }
  }

  private say(event: AgentEvent, parts: Content[], steered: boolean): void {
    this.push(event.path ?? "", { kind: "said", key: `s${event.seq}`, seq: event.seq, parts, at: event.at, steered });
  }

  /** The outcome of a call that the run did not wait for: nobody has said it, though the model reads it as a message. */
  private tell(event: AgentEvent & { type: "steered" }, callId: string): void {
    const update = event.message.parts.map((part) => (part.kind === "text" ? part.text : "")).join("\n").replace(UPDATE_HEAD, "");
    let name = callId;
    this.change(baseId(callId), (call) => { name = call.name; return { ...call, update }; });
    this.push(event.path ?? "", { ...note(event, `Update on ${name}`), detail: update });
  }

  /** The index of the turn that is written: steps of a workflow may write side by side. */
  private write(event: AgentEvent, update: (turn: Turn) => Turn): number {
    const path = event.path ?? "";
    const blocks = this.list(this.home(path));
    const index = blocks.findLastIndex((block) => block.kind === "turn" && block.writing && block.path === path);
    if (index < 0) return this.push(path, update(newTurn(event, this.isStep(path))));
    this.replace(this.home(path), index, update(blocks[index] as Turn));
    return index;
  }

  private reply(event: AgentEvent & { type: "model_replied" }): void {
    const turn = this.write(event, (turn) => readReply(turn, event));
    const path = this.home(event.path ?? "");
    for (const call of (this.list(path)[turn] as Turn).calls) this.places.set(call.id, { path, turn });
  }

  private change(id: string, update: (call: Call) => Call): void {
    const place = this.places.get(id);
    if (!place) return;
    const turn = this.list(place.path)[place.turn] as Turn;
    const calls = turn.calls.map((call) => (call.id === id ? update(call) : call));
    const isLatest = !place.path && !this.blocks.slice(place.turn + 1).some((block) => block.kind === "turn" || block.kind === "said");
    this.replace(place.path, place.turn, { ...turn, calls, cut: isLatest ? this.seq : turn.cut });
  }

  private merge(delta?: JsonObject): void {
    if (delta && Object.keys(delta).length) this.state = { ...this.state, ...delta };
  }

  private lists(): [string, Block[]][] {
    return [["", this.blocks], ...this.inner];
  }

  private list(path: string): Block[] {
    if (!path) return this.blocks;
    let blocks = this.inner.get(path);
    if (!blocks) this.inner.set(path, (blocks = []));
    return blocks;
  }

  /** The call that what happens at `path` belongs to; empty for the conversation itself. The steps of a
   * workflow are no calls: what they say stands where the workflow's own words would. */
  private home(path: string): string {
    while (path && !this.places.has(path)) path = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    return path;
  }

  private isStep(path: string): boolean {
    return this.home(path) !== path;
  }

  private push(path: string, block: Block): number {
    const home = this.home(path);
    const index = this.list(home).push(block) - 1;
    this.showInner(home);
    return index;
  }

  private replace(path: string, index: number, block: Block): void {
    this.list(path)[index] = block;
    this.showInner(path);
  }

  /** Blocks of an agent that runs inside a call belong to that call's card. */
  private showInner(path: string): void {
    if (path) this.change(path, (call) => ({ ...call, inner: [...this.list(path)] }));
  }
}

/** `call~2` is the second question of the same call. */
const baseId = (id: string) => id.replace(/~\d+$/, "");
/** The first line of an update, which is for the model (`agent/_updates.py`). */
const UPDATE_HEAD = /^\[Update on call .*\]\n/;
const addLine = (text: string, line: string) => (text ? `${text}\n${line}` : line).slice(-20_000);
const note = (event: AgentEvent, text: string): Note =>
  ({ kind: "note", key: `n${event.seq}`, seq: event.seq, text, at: event.at });

function newTurn(event: AgentEvent, isStep = false): Turn {
  return {
    kind: "turn", key: `t${event.path ?? ""}${event.seq || event.at}`, seq: event.seq, agent: event.agent, path: event.path ?? "", isStep, model: "", text: "",
    reasoning: "", images: [], calls: [], at: event.at, endedAt: 0, writing: true, cut: event.seq,
  };
}

function newCall(id: string, name: string, args: string, at: number): Call {
  return {
    id, name, arguments: args, state: "writing", progress: "", startedAt: at, endedAt: 0, elapsed: 0, inner: [],
  };
}

function writeCall(turn: Turn, event: AgentEvent & { type: "call_delta" }, whole: boolean): Turn {
  const calls = [...turn.calls];
  const call = calls[event.index] ?? newCall(`#${event.index}`, "", "", event.at);
  calls[event.index] = {
    ...call, name: call.name || event.name || "",
    arguments: whole ? event.arguments ?? "" : call.arguments + (event.arguments ?? ""),
  };
  return { ...turn, calls };
}

function readReply(turn: Turn, event: AgentEvent & { type: "model_replied" }): Turn {
  const read: Turn = {
    ...turn, text: "", reasoning: "", calls: [], images: [], writing: false, seq: event.seq, cut: event.seq, endedAt: event.at,
    model: event.message.model, usage: event.message.usage,
  };
  for (const part of event.message.parts) {
    if (part.kind === "text") read.text += part.text;
    else if (part.kind === "reasoning") read.reasoning += part.text;
    else if (part.kind === "blob") read.images.push(part);
    else if (part.kind === "server_tool") read.text += part.text ? `\n\n> ${part.name}: ${part.text}\n\n` : "";
    else read.calls.push(newCall(join(event.path ?? "", part.call_id), part.name, part.arguments, event.at));
  }
  return read;
}

/** A call that the run does not wait for has a result while its outcome is still to come. */
const goesOn = (call: Call) => call.pending?.blocking === false;

function ended(call: Call, event: AgentEvent & { type: "tool_ended" }): Call {
  const status = outcomeOf(event.result);
  const waits = status === "pending" || goesOn(call);
  return {
    ...call, state: waits ? "waiting" : stateOf(status), pending: waits ? call.pending : undefined, closed: !waits && call.pending !== undefined, result: event.result, elapsed: event.elapsed, endedAt: event.at, traceback: event.traceback,
  };
}

const stateOf = (outcome: Outcome): CallState => (outcome === "pending" ? "waiting" : outcome);

/** It goes on with the answer, unless the run did without it: then the answer is its outcome. */
function answered(call: Call, event: AgentEvent & { type: "pending_answered" }): Call {
  const isOver = goesOn(call) || call.result !== undefined && call.result.status !== "pending";
  return { ...call, pending: undefined, state: isOver ? outcomeOfAnswer(call, event.answer) : "running" };
}

function outcomeOfAnswer(call: Call, answer: Json | undefined): CallState {
  const { kind, status } = isObject(answer) ? answer : {};
  if (kind === "reject") return "denied";
  if (kind === "given" || !call.result) return status === "error" ? "error" : "ok";
  // A yes or a sign-in that comes too late changes nothing.
  return stateOf(outcomeOf(call.result));
}

/** Whether a call waits for an answer, or one that an agent inside it has made. */
export function waits(call: Call, isOpen: (call: Call) => boolean = () => true): boolean {
  const inside = call.inner.some((block) => block.kind === "turn" && block.calls.some((inner) => inner && waits(inner, isOpen)));
  return inside || call.state === "waiting" && isOpen(call);
}

function sum(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cached_tokens: a.cached_tokens + b.cached_tokens,
    cache_write_tokens: a.cache_write_tokens + b.cache_write_tokens,
    reasoning_tokens: a.reasoning_tokens + b.reasoning_tokens,
    cost: a.cost + b.cost,
    requests: a.requests + b.requests,
  };
}
