// Talks to the server's routes; a refusal becomes an error with the server's own words.
// Addresses are relative to the page, which may be mounted below any path.
import { parseSent, stringify } from "./exact";
import type {
  Answer, Answered, ArtifactInfo, FileEntry, Info, Json, JsonObject, OpenCall, Pending, Place,
  Session, Task, ToolInfo, ToolResult,
} from "./types";

export class Refusal extends Error {
  constructor(readonly status: number, detail: string, readonly issues: string[]) {
    super(detail);
  }
}

/** Called when the server wants the token; the page then asks the person for it. */
export const onSignedOut = { call: () => {} };

let ahead = 0;
/** Seconds since the epoch by the server's clock, to the second. */
export const serverNow = () => Date.now() / 1000 + ahead;

function noteClock(response: Response): void {
  const sent = Date.parse(response.headers.get("Date") ?? "") / 1000;
  // A header has whole seconds, and takes its time: less than this is no other clock.
  if (Number.isFinite(sent)) ahead = Math.abs(sent - Date.now() / 1000) > 5 ? sent - Date.now() / 1000 : 0;
}

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, headers: {} };
  if (body !== undefined) {
    init.headers = { "Content-Type": "application/json" };
    init.body = stringify(body as Json);
  }
  const response = await fetch(path, init).catch(() => {
    throw new Refusal(0, "The server cannot be reached.", []);
  });
  noteClock(response);
  if (!response.ok) throw await refusal(response);
  return response.status === 204 ? (undefined as T) : parseSent<T>(await response.text());
}

async function refusal(response: Response): Promise<Refusal> {
  if (response.status === 401) onSignedOut.call();
  try {
    const problem = parseSent<{ detail: string; issues?: string[] }>(await response.text());
    return new Refusal(response.status, problem.detail, problem.issues ?? []);
  } catch {
    return new Refusal(response.status, `The server answered ${response.status}.`, []);
  }
}

const id = encodeURIComponent;
export const base = (place: Place, key: string) => `api/${place}s/${id(key)}`;

export const api = {
  info: () => request<Info>("GET", "api/info"),
  chooseModel: (title: string) => request<void>("POST", "api/model", { title }),
  signIn: (token: string) => request<void>("POST", "api/sign-in", { token }),

  sessions: () => request<Session[]>("GET", "api/sessions"),
  newSession: () => request<Session>("POST", "api/sessions", {}),
  deleteSession: (key: string) => request<void>("DELETE", base("session", key)),
  run: (key: string, message: string) => request<void>("POST", `${base("session", key)}/runs`, { message }),
  resume: (key: string) => request<void>("POST", `${base("session", key)}/resume`),
  branch: (key: string, upto: number) => request<Session>("POST", `${base("session", key)}/branch`, { upto }),

  cancel: (place: Place, key: string) => request<void>("POST", `${base(place, key)}/cancel`),
  steer: (place: Place, key: string, message: string) =>
    request<void>("POST", `${base(place, key)}/steer`, { message }),
  pending: () => request<OpenCall[]>("GET", "api/pending"),
  answer: (place: Place, id: string, { call_id, key }: Pending, answer: Answer) =>
    request<{ outcome: Answered }>("POST", `${base(place, id)}/answers`, { call_id, key, answer }),

  tools: () => request<ToolInfo[]>("GET", "api/tools"),
  callTool: (name: string, args: JsonObject) =>
    request<{ session_id: string; result: ToolResult; elapsed: number }>(
      "POST", `api/tools/${id(name)}/call`, { arguments: args }),

  tasks: () => request<Task[]>("GET", "api/tasks"),
  enqueue: (agent: string, message: string) => request<Task>("POST", "api/tasks", { agent, message }),
  retryTask: (key: string) => request<void>("POST", `${base("task", key)}/retry`),
  queue: () => request<{ [name: string]: Json }>("GET", "api/queue"),

  artifacts: (key: string) => request<ArtifactInfo[]>("GET", `${base("session", key)}/artifacts`),
  files: (path: string) => request<FileEntry[]>("GET", `api/files?path=${id(path)}`),
};

export const outputAddress = (key: string, name: string) => `${base("session", key)}/outputs/${id(name)}`;
export const artifactAddress = (key: string, name: string) => `${base("session", key)}/artifacts/${id(name)}`;
export const fileAddress = (path: string) => `api/files/content?path=${id(path)}`;
