// One tool call as a card: what was asked, how it goes, what came of it.
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import type { Call } from "../conversation";
import type { Place } from "../types";
import { duration, summary } from "../words";
import { AnswerPanel } from "./answer";
import { Blocks } from "./blocks";
import { Contents } from "./content";
import { Icon } from "./icon";
import { Arguments } from "./json";
import { StatusChip, StatusMark } from "./status";

interface Props { call: Call; place: Place; id: string; live: boolean }

export const CallCard = memo(({ call, place, id, live }: Props) => {
  const [toggled, setToggled] = useState<boolean | null>(null);
  const open = toggled ?? (call.state === "waiting" || call.inner.length > 0 && call.state === "running");
  const pictures = call.result?.content.filter((part) => part.kind === "blob") ?? [];
  return (
    <section class={`call ${call.state}`} aria-label={`Call of ${call.name}`}>
      <button type="button" class="call-head" aria-expanded={open} onClick={() => setToggled(!open)}>
        <StatusMark status={call.state} />
        <span class="call-name">{call.name || "…"}</span>
        <span class="call-args">{summary(call.arguments)}</span>
        {call.state === "waiting" || call.state === "denied" ? <StatusChip status={call.state} /> : null}
        {call.elapsed > 0 && <span class="time">{duration(call.elapsed)}</span>}
        <Icon name="chevron" class="turnable" />
      </button>
      {!open && call.state === "running" && call.progress && (
        <p class="progress-line">{call.progress.slice(call.progress.lastIndexOf("\n") + 1)}</p>
      )}
      {!open && pictures.length > 0 && <div class="call-body"><Contents parts={pictures} /></div>}
      {open && <CallBody call={call} place={place} id={id} live={live} />}
    </section>
  );
});

function CallBody({ call, place, id, live }: Props) {
  const asked = call.state === "waiting" && call.pending && live;
  return (
    <div class="call-body">
      {asked ? <AnswerPanel key={call.pending!.call_id} place={place} id={id} pending={call.pending!} /> : (
        <>
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
          <h4>Result</h4>
          <Contents parts={call.result.content} />
          {call.result.data != null && (
            <details class="more">
              <summary>Data</summary>
              <pre tabIndex={0}>{JSON.stringify(call.result.data, null, 2)}</pre>
            </details>
          )}
        </>
      )}
      {call.traceback && <details class="more"><summary>Traceback</summary><pre tabIndex={0}>{call.traceback}</pre></details>}
    </div>
  );
}
