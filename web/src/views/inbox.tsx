// Everything that waits for a person, from every session and task.
import { useRef, useState } from "preact/hooks";
import { AnswerPanel } from "../parts/answer";
import { BEGUN_IN_INBOX, isSecret, useDraft } from "../drafts";
import { Icon, type IconName } from "../parts/icon";
import { LongText } from "../parts/long";
import { href } from "../router";
import { useShared } from "../shared";
import type { OpenCall, PendingKind } from "../types";
import { count } from "../words";

const KINDS: Record<PendingKind, { word: string; icon: IconName }> = {
  confirmation: { word: "Approve", icon: "check" },
  credential: { word: "Sign in", icon: "key" },
  choice: { word: "Choose", icon: "list" },
  input: { word: "Fill in", icon: "edit" },
  result: { word: "Complete", icon: "clock" },
};

export function InboxView() {
  const { pending, unread, known } = useShared();
  const [kind, setKind] = useState<PendingKind | "">("");
  // What the person has begun to answer stays, with a word, when somebody else answers first.
  const [begun, setBegun] = useDraft<OpenCall[]>(BEGUN_IN_INBOX, []);
  const latest = useRef(begun);
  const mark = (call: OpenCall, yes: boolean) => {
    latest.current = [...latest.current.filter((other) => keyOf(other) !== keyOf(call)), ...(yes ? [call] : [])];
    setBegun(latest.current, latest.current.filter((other) => !isSecret(other.pending)));
  };
  const waiting = new Map(pending.map((call) => [keyOf(call), call]));
  const cards = useRef<OpenCall[]>(begun);
  cards.current = inPlace(cards.current, waiting, begun.map(keyOf));
  const isShown = (call: OpenCall) => !kind || !call.problem && call.pending.kind === kind;
  return (
    <div class="page-view">
      <header class="bar">
        <h1>Inbox</h1>
        <span class="quiet" role="status">{unread.pending ? "Not known" : known && `${count(pending.length, "call")} waiting`}</span>
      </header>
      <div class="scroll" tabIndex={0} role="group" aria-label="Waiting calls">
        <div class="column">
          <div class="tabs" role="group" aria-label="Show">
            <button type="button" aria-pressed={kind === ""} onClick={() => setKind("")}>All</button>
            {(Object.keys(KINDS) as PendingKind[]).map((k) => (
              <button type="button" key={k} aria-pressed={kind === k} onClick={() => setKind(k)}>{KINDS[k].word}</button>
            ))}
          </div>
          {/* Hidden, not left out: what is written in a card is still there when it is shown again. */}
          {cards.current.map((call) => (
            <Waiting key={keyOf(call)} call={call} hidden={!isShown(call)} gone={known && !waiting.has(keyOf(call))} onBegun={(yes) => mark(call, yes)} />
          ))}
          {known && !unread.pending && !cards.current.some(isShown) && <Empty />}
        </div>
      </div>
    </div>
  );
}

const keyOf = (call: OpenCall) => `${call.place}/${call.id}/${call.pending.call_id}`;

/** Those that wait, and those that were begun, each where it was before; new ones come last. */
function inPlace(before: OpenCall[], waiting: Map<string, OpenCall>, begun: string[]): OpenCall[] {
  const known = new Set(before.map(keyOf));
  const kept = before.filter((call) => waiting.has(keyOf(call)) || begun.includes(keyOf(call)));
  const added = [...waiting.values()].filter((call) => !known.has(keyOf(call)));
  return [...kept.map((call) => waiting.get(keyOf(call)) ?? call), ...added];
}

interface WaitingProps { call: OpenCall; hidden: boolean; gone: boolean; onBegun(yes: boolean): void }

function Waiting({ call, hidden, gone, onBegun }: WaitingProps) {
  const { pending } = call;
  const { word, icon } = KINDS[pending.kind];
  if (call.problem) return <Unreadable call={call} hidden={hidden} />;
  const target = call.place === "session" ? href("chat", call.id) : href("runs", "task", call.id);
  return (
    <article class="waiting-card" hidden={hidden} aria-label={`${word}: ${pending.name}`}>
      <header>
        <span class="mark wait"><Icon name={icon} /></span>
        <div class="grow">
          <h2>{pending.name}</h2>
          <p class="quiet small-text">
            {word} · {pending.agent || "agent"} in <a href={target}>{call.title || call.id}</a>
          </p>
        </div>
      </header>
      <AnswerPanel place={call.place} id={call.id} pending={pending} gone={gone} onBegun={onBegun} />
    </article>
  );
}

/** Nobody can answer it here, and it is still there. */
function Unreadable({ call, hidden }: { call: OpenCall; hidden: boolean }) {
  const target = call.place === "session" ? href("runs", "session", call.id) : href("runs", "task", call.id);
  return (
    <article class="waiting-card" hidden={hidden} aria-label="A call that cannot be read">
      <header>
        <span class="mark bad"><Icon name="cross" /></span>
        <div class="grow">
          <h2>A call that cannot be read</h2>
          <p class="quiet small-text">{call.pending.call_id} in <a href={target}>{call.title || call.id}</a></p>
        </div>
      </header>
      <p>It was stored by a newer version, or is damaged, and cannot be answered here. The other calls are not affected.</p>
      <details class="more"><summary>Details</summary><LongText text={call.problem} /></details>
    </article>
  );
}

function Empty() {
  return (
    <div class="empty-state">
      <Icon name="inbox" />
      <h2>Nothing waits for you</h2>
      <p>Calls that need an approval, a choice, a sign-in or a result from outside appear here at once.</p>
    </div>
  );
}
