// A run as bars over time: turns, calls side by side when they ran side by side, waiting as waiting.
import { useEffect, useState } from "preact/hooks";
import { endOf, isGoing, runsOf, type RunSpans, type Span } from "../spans";
import { useAnswered } from "../shared";
import type { AgentEvent, Place } from "../types";
import { clock, duration } from "../words";

const LAST_RUNS = 20;
const MAX_ROWS = 300;

interface Whose { place: Place; id: string }

export function Timeline({ events, place, id }: Whose & { events: AgentEvent[]; count: number }) {
  const runs = runsOf(events);
  const now = useNow(runs.some(isGoing));
  if (!runs.length) return <p class="quiet pick">Nothing has happened yet.</p>;
  return (
    <div class="column wide-column">
      {runs.slice(-LAST_RUNS).map((run) => <RunBars key={run.key} run={run} now={now} place={place} id={id} />)}
    </div>
  );
}

function useNow(ticking: boolean): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => setNow(Date.now() / 1000), 500);
    return () => clearInterval(timer);
  }, [ticking]);
  return now;
}

function RunBars({ run, now, ...whose }: Whose & { run: RunSpans; now: number }) {
  const end = endOf(run, now);
  const length = Math.max(end - run.from, 0.001);
  return (
    <section class="run-bars">
      <h2>{run.title}</h2>
      <p class="quiet small-text">{clock(run.from)} · {duration(length)}{isGoing(run) ? " so far" : ""}</p>
      <div class="axis" aria-hidden="true"><span>0</span><span>{duration(length / 2)}</span><span>{duration(length)}</span></div>
      <ol>
        {run.spans.slice(0, MAX_ROWS).map((span) => <Bar key={`${span.key}${span.kind}${span.label}`} span={span} start={run.from} length={length} end={end} {...whose} />)}
      </ol>
      {run.spans.length > MAX_ROWS && <p class="quiet">… and {run.spans.length - MAX_ROWS} more; see Events.</p>}
    </section>
  );
}

interface BarProps extends Whose { span: Span; start: number; length: number; end: number }

function Bar({ span, start, length, end, place, id }: BarProps) {
  const answered = useAnswered(place, id, span.to ? undefined : span.asked);
  const to = span.to || end;
  const left = ((span.from - start) / length) * 100;
  const width = Math.max(((to - span.from) / length) * 100, 0.4);
  return (
    <li class="bar-row">
      <span class="bar-label" style={{ paddingLeft: `${span.depth * 14}px` }}>{span.kind === "call" ? <code>{span.label}</code> : answered ? `${span.asked!.name} is answered` : span.label}</span>
      <span class="bar-track" aria-hidden="true">
        <span class={`bar-fill tone-${span.tone} ${span.to ? "" : "going"}`} style={{ left: `${Math.min(left, 99.6)}%`, width: `${width}%` }} />
      </span>
      <span class="bar-time">{duration(to - span.from)}<span class="hidden"> {answered ? "answered" : span.tone}</span></span>
    </li>
  );
}
