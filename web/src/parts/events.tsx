// Every stored event as a row; only the rows in sight exist, so ten thousand scroll like ten.
import { useRef, useState } from "preact/hooks";
import { stringify } from "../exact";
import { outcomeOf } from "../outcome";
import type { AgentEvent, Json } from "../types";
import { clock, summary } from "../words";
import { CopyButton } from "./copy";
import { Icon } from "./icon";

const ROW = 34;
const SPARE = 10;

export function EventList({ events }: { events: AgentEvent[]; count: number }) {
  const [top, setTop] = useState(0);
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState<AgentEvent | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const found = wanted ? events.filter((event) => textOf(event).toLowerCase().includes(wanted.toLowerCase())) : events;
  const first = Math.max(0, Math.floor(top / ROW) - SPARE);
  const seen = Math.ceil((box.current?.clientHeight ?? 800) / ROW) + 2 * SPARE;
  return (
    <div class="event-view">
      <label class="search">
        <Icon name="search" /><span class="hidden">Search events</span>
        <input type="search" placeholder="Search events" value={wanted} onInput={(e) => setWanted(e.currentTarget.value)} />
      </label>
      <div class="event-split">
        <div class="scroll event-rows" ref={box} tabIndex={0} role="list" aria-label="Events"
          onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
          <div class="event-space" style={{ height: `${found.length * ROW}px` }}>
            {found.slice(first, first + seen).map((event, index) => (
              <div key={event.seq} role="listitem" class="event-row" style={{ transform: `translateY(${(first + index) * ROW}px)` }}
                aria-setsize={found.length} aria-posinset={first + index + 1}>
                <button type="button" aria-pressed={chosen === event} onClick={() => setChosen(event)}>
                  <span class="quiet mono">{event.seq}</span>
                  <span class="quiet mono">{clock(event.at)}</span>
                  <span class={`event-type ${event.type}`}>{event.type.replace(/_/g, " ")}</span>
                  <span class="row-detail">{gist(event)}</span>
                </button>
              </div>
            ))}
          </div>
        </div>
        {chosen && (
          <div class="scroll event-detail" tabIndex={0} role="group" aria-label="Event">
            <CopyButton text={textOf(chosen)} />
            <pre tabIndex={0}>{textOf(chosen)}</pre>
          </div>
        )}
      </div>
    </div>
  );
}

const textOf = (event: AgentEvent) => stringify(event as unknown as Json, true);

/** What an event is about, in one line. */
function gist(event: AgentEvent): string {
  switch (event.type) {
    case "run_started": return event.message ? textIn(event.message.parts) : "went on";
    case "message_queued":
    case "steered": return textIn(event.message.parts);
    case "turn_started": return `turn ${event.turn}`;
    case "model_replied": return textIn(event.message.parts) || event.message.parts.map((p) => (p.kind === "call" ? p.name : "")).join(" ");
    case "tool_started": return `${event.call.name} ${summary(event.call.arguments)}`;
    case "tool_ended": return `${event.result.name} ${outcomeOf(event.result)}`;
    case "pending_changed":
    case "pending_opened": return `${event.pending.name} ${event.pending.kind}`;
    case "pending_answered": return event.call_id;
    case "run_ended": return `${event.status} ${event.reason}`;
    default: return "";
  }
}

const textIn = (parts: { kind: string; text?: string }[]) =>
  parts.map((part) => (part.kind === "text" ? part.text : "")).join(" ").slice(0, 160);
