// The values that the server sends: events as its log has them, and the answers of its routes.
import type { Exact } from "./exact";

export type Json = null | boolean | number | Exact | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export interface TextPart { kind: "text"; text: string }
export interface BlobPart { kind: "blob"; media_type: string; data?: string; url?: string; name?: string }
export interface ReasoningPart { kind: "reasoning"; text: string }
export interface ServerToolPart { kind: "server_tool"; provider: string; name: string; text?: string }
export interface ToolCall { kind: "call"; call_id: string; name: string; arguments: string }
export type Content = TextPart | BlobPart;
export type ModelPart = TextPart | BlobPart | ReasoningPart | ServerToolPart | ToolCall;

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  cost: number;
  requests: number;
}

export interface UserMessage { kind: "user"; parts: Content[] }
export interface ModelMessage { kind: "model"; parts: ModelPart[]; usage: Usage; model: string }

export type CallStatus = "ok" | "error" | "denied" | "pending";
export interface ToolResult {
  call_id: string;
  name: string;
  status: CallStatus;
  content: Content[];
  data?: Json;
  failed?: boolean | null;
  outcome_unknown?: boolean | null;
  noted?: boolean | null;
}

export type PendingKind = "result" | "confirmation" | "credential" | "choice" | "input";
export interface Pending {
  call_id: string;
  name: string;
  kind: PendingKind;
  hint: string;
  payload?: Json;
  arguments: JsonObject;
  schema?: JsonObject;
  /** What the tool takes, for those who edit the arguments. */
  parameters?: JsonObject;
  deadline?: number;
  agent: string;
  blocking: boolean;
  /** Which rule asks, in words; missing when the tool itself does. */
  rule?: string;
  /** Names the question among all there ever were; sent along with its answer. */
  key?: string;
}

interface Happened { seq: number; run_id: string; agent: string; path: string; at: number }
export interface Actions { state_delta?: JsonObject; artifact_delta?: { [name: string]: number } }

export type AgentEvent = Happened & (
  | { type: "run_started"; message?: UserMessage }
  | { type: "steered"; message: UserMessage; call_id?: string }
  | { type: "message_queued"; message: UserMessage }
  | { type: "cancel_requested" }
  | { type: "turn_started"; turn: number }
  | { type: "text_delta"; text: string }
  | { type: "reasoning_delta"; text: string }
  | { type: "call_delta"; index: number; name: string; arguments: string }
  | { type: "model_replied"; message: ModelMessage }
  | { type: "tool_started"; call: ToolCall }
  | { type: "tool_progress"; call_id: string; text: string; data?: Json }
  | { type: "tool_ended"; result: ToolResult; actions?: Actions; elapsed: number; traceback?: string }
  | { type: "pending_opened"; pending: Pending; actions?: Actions }
  | { type: "pending_changed"; pending: Pending }
  | { type: "pending_answered"; call_id: string; answer?: Json }
  | { type: "state_changed"; delta: JsonObject }
  | { type: "history_compacted" }
  | { type: "transferred"; to_agent: string }
  | { type: "run_ended"; status: RunStatus; text: string; reason: string; usage: Usage }
);
export type RunStatus = "done" | "paused" | "stopped";

export type Place = "session" | "task";
export type Status =
  | "queued" | "running" | "waiting" | "done" | "stopped" | "failed" | "cancelled" | "interrupted" | "new";

export interface Session {
  id: string;
  user_id: string;
  title: string;
  status: Status;
  created_at: number;
  updated_at: number;
  last_seq: number;
  by_hand: boolean;
  /** A person has stopped its last run, and something has come since that nobody goes on with. */
  can_go_on: boolean;
}

export interface Task {
  id: string;
  agent: string;
  owner_id: string;
  title: string;
  status: Status;
  created_at: number;
  updated_at: number;
  attempts: number;
  reason: string;
}

/** With a `problem`, all that is known of `pending` is its id. */
export interface OpenCall { place: Place; id: string; title: string; pending: Pending; problem: string }

export interface ToolInfo {
  name: string;
  description: string;
  parameters: JsonObject;
  effects: "read" | "write" | "destructive";
  tags: string[];
  tokens: number;
}

export interface Suggestion { title: string; detail: string; prompt: string }
export interface Info {
  app_name: string;
  version: string;
  agent: { name: string; description: string; model: string };
  models: { title: string; chosen: boolean }[];
  notice: string;
  suggestions: Suggestion[];
  features: { tasks: boolean; artifacts: boolean; files: boolean; token: boolean };
}

export interface ArtifactInfo { name: string; version: number; media_type: string; size: number; created_at: number }
export interface FileEntry { path: string; is_dir: boolean; size: number }
export type Answered = "accepted" | "duplicate" | "unknown" | "expired" | "finished";
/** What is not asked about again: nothing, the same call, the tool, or all that a server has now. */
export type Remember = false | "arguments" | "session" | "user" | "source";

export type Answer =
  | { kind: "approve"; arguments?: JsonObject; remember?: Remember }
  | { kind: "reject"; reason: string }
  | { kind: "value"; value: Json };
