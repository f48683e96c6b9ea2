// One tool call as a card: what was asked, how it goes, what came of it.
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import { waits, type Call } from "../conversation";
import { outputAddress } from "../api";
import { isSecret, useDraft } from "../drafts";
import { isNumber, isObject, stringify } from "../exact";
import { useAnswered, useCanGoOn } from "../shared";
import type { Json, Pending, Place } from "../types";
import { bytes, duration, summary } from "../words";
import { AnswerPanel } from "./answer";
import { Blocks } from "./blocks";
import { Contents } from "./content";
import { Icon } from "./icon";
import { Arguments } from "./json";
import { LongText } from "./long";
import { StatusChip, StatusMark } from "./status";

interface Props { call: Call; place: Place; id: string; live: boolean }

const CHIPS = ["waiting", "answered", "denied", "failed"];

export const CallCard = memo(({ call, place, id, live }: Props) => {
  const [toggled, setToggled] = useState<boolean | null>(null);
  // What the person has begun to answer stays, with a word, when somebody else answers first.
  const [begun, setBegun] = useDraft<Pending | null>(`begun/${place}/${id}/${call.id}`, null);
  const waiting = call.state === "waiting" && live ? call.pending : undefined;
  const answered = useAnswered(place, id, waiting);
  const state = answered ? "answered" : call.state;
  const open = toggled ?? (begun !== null || waits(call) || call.inner.length > 0 && call.state === "running");
  const pictures = call.result?.content.filter((part) => part.kind === "blob") ?? [];
  return (
    <div role="group" class={`call ${state}`} aria-label={`Call of ${call.name}`}>
      <button type="button" class="call-head" aria-expanded={open} onClick={() => setToggled(!open)}>
        <StatusMark status={state} />
        <span class="call-name">{call.name || "…"}</span>
        <span class="call-args">{summary(call.arguments)}</span>
        {CHIPS.includes(state) ? <StatusChip status={state} /> : null}
        {call.elapsed > 0 && <span class="time">{duration(call.elapsed)}</span>}
        <Icon name="chevron" class="turnable" />
      </button>
      {!open && call.state === "running" && call.progress && (
        <p class="progress-line">{call.progress.slice(call.progress.lastIndexOf("\n") + 1)}</p>
      )}
      {!open && pictures.length > 0 && <div class="call-body"><Contents parts={pictures} /></div>}
      {/* Hidden, not left out, while something is written in it: it is still there when it is shown again. */}
      {(open || begun) && <CallBody hidden={!open} call={call} place={place} id={id} live={live} waiting={answered ? undefined : waiting} answered={answered} begun={begun} setBegun={setBegun} />}
    </div>
  );
});

interface BodyProps extends Props { hidden: boolean; waiting: Pending | undefined; answered: boolean; begun: Pending | null; setBegun(pending: Pending | null, toKeep?: Pending | null): void }

function CallBody({ hidden, call, place, id, live, waiting, answered, begun, setBegun }: BodyProps) {
  const asked = begun ?? waiting;
  const canGoOn = useCanGoOn(place, id);
  return (
    <div class="call-body" hidden={hidden}>
      {asked ? (
        <AnswerPanel key={asked.call_id} place={place} id={id} pending={asked}
          gone={call.asked === true && asked.call_id !== waiting?.call_id} closed={call.closed} canGoOn={canGoOn} onBegun={(yes) => setBegun(yes ? asked : null, yes && !isSecret(asked) ? asked : null)} />
      ) : (
        <>
          {answered && <p class="quiet" role="status">Answered. {canGoOn ? "You stopped this run: your answer is kept until you go on." : "The agent goes on with it as soon as nothing else is waited for."}</p>}
          <h4>Arguments</h4>
          <Arguments json={call.arguments} />
        </>
      )}
      {call.progress && (
        <>
          <h4>Progress</h4>
          <pre class="progress" tabIndex={0}>{call.progress}</pre>
        </>
      )}
      {call.inner.length > 0 && <div class="inner"><Blocks blocks={call.inner} place={place} id={id} live={live} /></div>}
      {call.result && call.result.status !== "pending" && (
        <>
          <h4>{call.state === "waiting" || call.update !== undefined ? "Result so far" : "Result"}</h4>
          <Contents parts={call.result.content} />
          {call.result.data != null && <Data data={call.result.data} session={place === "session" ? id : ""} />}
        </>
      )}
      {call.update !== undefined && (
        <>
          <h4>Update</h4>
          <LongText text={call.update} />
        </>
      )}
      {call.traceback && <details class="more"><summary>Traceback</summary><pre tabIndex={0}>{call.traceback}</pre></details>}
    </div>
  );
}

// Data that was too large for an event is kept apart; it is fetched only when somebody asks for it.
function Data({ data, session }: { data: Json; session: string }) {
  const kept = isObject(data) ? data : {};
  if (session && typeof kept.stored_as === "string" && isNumber(kept.bytes)) {
    return <p class="more"><a href={outputAddress(session, kept.stored_as)} download>Data, {bytes(Number(kept.bytes))}</a></p>;
  }
  return (
    <details class="more">
      <summary>Data</summary>
      <pre tabIndex={0}>{stringify(data, true)}</pre>
    </details>
  );
}
