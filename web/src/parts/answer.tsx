// Answers a call that waits for a person: approve, edit, reject, choose, fill in, complete, sign in.
import { useEffect, useId, useState } from "preact/hooks";
import { api, Refusal, serverNow } from "../api";
import { dropDrafts, questionOf, useDraft } from "../drafts";
import { isObject, own, parse, same } from "../exact";
import { forgetPending } from "../shared";
import type { Answer, Json, JsonObject, Pending, Place, Remember } from "../types";
import { useSchema } from "../tools";
import { duration } from "../words";
import { Boundary } from "./boundary";
import { ChoiceAnswer, choicesOf, SHOWN_AS_OPTIONS } from "./choice";
import { addressOf, CredentialAnswer } from "./credential";
import { SchemaForm } from "./form";
import { Icon } from "./icon";
import { Facts, Value } from "./json";
import { LinkOut } from "./link";
import { LongText } from "./long";

interface Props {
  place: Place;
  id: string;
  pending: Pending;
  /** It does not wait any more, but the person had begun to answer. */
  gone?: boolean;
  /** It ended without an answer. */
  closed?: boolean;
  /** Its run was stopped: nothing is told before the person goes on. */
  canGoOn?: boolean;
  /** The person has begun to answer, or is through with it. */
  onBegun?(begun: boolean): void;
}
type Send = (answer: Answer) => Promise<void>;

export function AnswerPanel({ place, id, pending, gone = false, closed = false, canGoOn = false, onBegun = () => {} }: Props) {
  const at = questionOf(place, id, pending);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [written, setWritten] = useDraft(`${at}/written`, false);
  const drop = () => { dropDrafts(at); onBegun(false); };
  const left = useSecondsLeft(pending.deadline);
  const expired = left <= 0;
  const send: Send = async (answer) => {
    if (gone || expired) return;
    setBusy(true);
    setProblem("");
    try {
      await api.answer(place, id, pending, answer);
      drop();
      forgetPending(place, id, pending.call_id);
    } catch (error) {
      setProblem(whyNot(error));
      setBusy(false);
    }
  };
  return (
    <div class={(gone || expired) && !busy ? "answer gone" : "answer"} aria-busy={busy} onInput={() => { setWritten(true); onBegun(true); }}>
      {gone && !busy && (
        <p class="notice" role="alert">
          {whatBecame(closed, expired)} What you wrote was not sent; it is still here.{" "}
          <button type="button" class="small" onClick={drop}>Dismiss</button>
        </p>
      )}
      <Deadline left={left} canGoOn={canGoOn} />
      <fieldset class="bare" disabled={busy}>
        <legend class="hidden">Answer {pending.name}</legend>
        <Boundary name="question" value={pending} instead={<RejectUnseen send={send} />}>
          {pending.hint && <div class="hint"><LongText text={pending.hint} /></div>}
          {/* What was written stays to be read, though it cannot be sent. */}
          {expired && !written ? <Facts value={pending.arguments} /> : <Question at={at} pending={pending} send={send} />}
        </Boundary>
      </fieldset>
      {problem && <p class="bad-text" role="alert">{problem}</p>}
    </div>
  );
}

function whatBecame(closed: boolean, expired: boolean): string {
  if (closed) return expired ? "Nobody answered this call in time." : "This call was closed without an answer, by a message or with its run.";
  return expired ? "This call was answered elsewhere, or nobody answered in time." : "This call was answered elsewhere.";
}

function whyNot(error: unknown): string {
  if (!(error instanceof Refusal)) return String(error);
  return [error.message, ...error.issues.filter((issue) => !issue.startsWith("outcome:"))].join("\n");
}

interface QuestionProps {
  /** What drafts are kept by. */
  at: string;
  pending: Pending;
  send: Send;
}

function Question({ at, pending, send }: QuestionProps) {
  if (pending.kind === "confirmation") return <Confirmation at={at} pending={pending} send={send} />;
  if (pending.kind === "credential") return <><CredentialAnswer pending={pending} send={send} /><Added pending={pending} /></>;
  const options = choicesOf(pending);
  if (options) return <><Added pending={pending} /><ChoiceAnswer at={at} pending={pending} options={options} send={send} /></>;
  return <ValueAnswer at={at} pending={pending} send={send} />;
}

/** What cannot be shown can only be refused. */
function RejectUnseen({ send }: { send: Send }) {
  return (
    <div class="buttons">
      <button type="button" class="danger" onClick={() => void send({ kind: "reject", reason: "The question could not be shown." })}><Icon name="ban" /> Reject</button>
    </div>
  );
}

/** What the question says beside its words and the call's arguments. */
function Added({ pending, args = pending.arguments }: { pending: Pending; args?: JsonObject }) {
  const added = addedTo(pending, args);
  if (added === undefined) return null;
  const address = isObject(added) ? addressOf(added) : undefined;
  const shown = isObject(added) ? <Facts value={added} /> : <Value value={added} />;
  if (pending.kind === "credential") return <details class="more"><summary>Details</summary>{shown}</details>;
  return (
    <section class="added">
      <h4>Details of the question</h4>
      {shown}
      {address && <p><LinkOut address={address} class="button">Open</LinkOut></p>}
    </section>
  );
}

/** The payload, without what is shown in another way: options, and values that are arguments too. */
function addedTo(pending: Pending, args: JsonObject): Json | undefined {
  const { payload } = pending;
  if (payload === undefined || payload === null) return undefined;
  if (!isObject(payload)) return payload;
  const isShown = choicesOf(pending) ? SHOWN_AS_OPTIONS : [];
  const rest = Object.entries(payload).filter(([name, value]) => !isShown.includes(name) && !same(own(args, name), value));
  return rest.length ? Object.fromEntries(rest) : undefined;
}

function Confirmation({ at, pending, send }: QuestionProps) {
  const [mode, setMode] = useDraft<"ask" | "edit" | "reject">(`${at}/mode`, "ask");
  const [args, setArgs] = useDraft<JsonObject>(`${at}/arguments`, pending.arguments);
  const [reason, setReason] = useDraft(`${at}/reason`, "");
  const why = useId();
  const [remember, setRemember] = useDraft<Remember>(`${at}/remember`, false);
  const schema = useSchema(pending.name);
  const edited = mode === "edit" && !same(args, pending.arguments) ? { arguments: args } : {};
  return (
    <form onSubmit={(e) => {
      e.preventDefault();
      void send(mode === "reject" ? { kind: "reject", reason } : { kind: "approve", remember, ...edited });
    }}>
      {mode !== "edit" ? <Facts value={pending.arguments} />
        : schema ? <SchemaForm at={`${at}/form`} schema={schema} value={args} onChange={setArgs} />
        : <p class="quiet" role="status">Reading what the tool takes…</p>}
      <Added pending={pending} args={mode === "edit" ? args : pending.arguments} />
      {mode === "reject" ? (
        <div class="field">
          <label for={why}>Why not? The model is told.</label>
          <input id={why} type="text" value={reason} autocomplete="off" ref={focusOnce}
            onInput={(e) => setReason(e.currentTarget.value)} />
        </div>
      ) : pending.rule ? (
        <RememberChoice pending={pending} edited={mode === "edit"} value={remember} onChange={setRemember} />
      ) : null}
      <div class="buttons">
        {mode === "reject" ? (
          <button type="submit" class="danger"><Icon name="ban" /> Reject</button>
        ) : (
          <button type="submit" class="primary" disabled={mode === "edit" && !schema}><Icon name="check" /> {mode === "edit" ? "Approve as edited" : "Approve"}</button>
        )}
        {mode === "ask" && <button type="button" onClick={() => setMode("edit")}><Icon name="edit" /> Edit</button>}
        {mode === "ask" && <button type="button" onClick={() => setMode("reject")}><Icon name="ban" /> Reject…</button>}
        {mode !== "ask" && <button type="button" class="plain" onClick={() => setMode("ask")}>Back</button>}
      </div>
    </form>
  );
}

/** One function for good: a new one at each drawing would be called at each, and take the keyboard from other cards. */
const focusOnce = (input: HTMLElement | null) => input?.focus();

interface RememberProps { pending: Pending; edited: boolean; value: Remember; onChange(value: Remember): void }

/** A tool's own question is asked every time; a rule's can be answered for longer. */
function RememberChoice({ pending, edited, value, onChange }: RememberProps) {
  const field = useId();
  const source = isObject(pending.payload) ? pending.payload.source : undefined;
  const options: [Remember, string][] = [
    [false, "This call only"],
    ["arguments", edited ? "These arguments, in this session" : "The same arguments, in this session"],
    // The name stands above: a long one would push the rest out of the list.
    ["session", "This tool, in this session"],
    ["user", "This tool, for this user, until it changes"],
  ];
  if (typeof source === "string") options.push(["source", "All tools of its source, as they are now"]);
  return (
    <div class="field remember">
      <label for={field}>Approve</label>
      <select id={field} onChange={(e) => onChange((e.currentTarget.value || false) as Remember)}>
        {options.map(([key, label]) => <option value={key || ""} selected={key === value}>{label}</option>)}
      </select>
      <p class="help">Asked by {pending.rule}.</p>
    </div>
  );
}

function ValueAnswer({ at, pending, send }: QuestionProps) {
  const [value, setValue] = useDraft<JsonObject>(`${at}/value`, {});
  const [text, setText] = useDraft(`${at}/text`, "");
  const field = useId();
  const asForm = pending.schema?.type === "object" && pending.schema.properties;
  return (
    <form onSubmit={(e) => {
      e.preventDefault();
      void send({ kind: "value", value: asForm ? value : readValue(text, pending) });
    }}>
      <Facts value={pending.arguments} />
      <Added pending={pending} />
      {asForm ? (
        <SchemaForm at={`${at}/form`} schema={pending.schema!} value={value} onChange={setValue} />
      ) : (
        <div class="field">
          <label for={field}>{pending.kind === "result" ? "Result of the call (text or JSON)" : "Your answer"}</label>
          <textarea id={field} rows={3} required value={text} onInput={(e) => setText(e.currentTarget.value)} />
        </div>
      )}
      <div class="buttons">
        <button type="submit" class="primary"><Icon name="check" /> {pending.kind === "result" ? "Complete the call" : "Send"}</button>
        <button type="button" onClick={() => void send({ kind: "reject", reason: "Declined in the workbench." })}>Decline</button>
      </div>
    </form>
  );
}

/** Text that is wanted as text stays text; otherwise JSON is read where it is JSON. */
function readValue(text: string, pending: Pending): Json {
  if (pending.schema?.type === "string") return text;
  try {
    return parse(text);
  } catch {
    return text;
  }
}

/** Infinity where there is no deadline. By the server's clock, for that is what decides. */
function useSecondsLeft(at: number | undefined): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (!at) return;
    const timer = setInterval(() => setNow(serverNow()), 1000);
    return () => clearInterval(timer);
  }, [at]);
  return at ? at - now : Infinity;
}

function Deadline({ left, canGoOn }: { left: number; canGoOn: boolean }) {
  if (left === Infinity) return null;
  return (
    <p class={left < 60 ? "deadline bad-text" : "deadline"}>
      <Icon name="clock" /> {left > 0 ? `${duration(left)} left to answer` : `The deadline has passed: the agent will be told that nobody answered${canGoOn ? ", when you go on" : ""}`}
    </p>
  );
}
