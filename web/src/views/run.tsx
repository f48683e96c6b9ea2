// One run or task in depth: its timeline, its events one by one, and a replay of it.
import { useEffect, useMemo, useState } from "preact/hooks";
import { api } from "../api";
import { Conversation } from "../conversation";
import { Blocks } from "../parts/blocks";
import { EventList } from "../parts/events";
import { Icon } from "../parts/icon";
import { StatusChip } from "../parts/status";
import { Timeline } from "../parts/timeline";
import { dropDraftsIn } from "../drafts";
import { go, href } from "../router";
import { refresh, useShared } from "../shared";
import type { AgentEvent, Place, Status } from "../types";
import { useConversation } from "../use-conversation";
import { count } from "../words";

type Tab = "timeline" | "conversation" | "events" | "replay";
const TABS: Tab[] = ["timeline", "conversation", "events", "replay"];

export function RunView({ place, id }: { place: Place; id: string }) {
  const { events, conversation } = useConversation(place, id);
  const { sessions, tasks } = useShared();
  const row = place === "session" ? sessions.find((s) => s.id === id) : tasks.find((t) => t.id === id);
  const [tab, setTab] = useState<Tab>("timeline");
  return (
    <div class="page-view">
      <header class="bar run-bar">
        <a class="plain button" href={href("runs")}><Icon name="chevron" class="flipped" /><span class="hidden">All runs</span></a>
        <h1>{row?.title || id}</h1>
        {row && <StatusChip status={row.status} />}
        <RunActions place={place} id={id} status={row?.status} seq={conversation.seq} running={conversation.running} />
      </header>
      <div class="subbar">
        <div class="tabs" role="group" aria-label="Show">
          {TABS.map((t) => (
            <button type="button" key={t} aria-pressed={tab === t} onClick={() => setTab(t)}>{t[0]!.toUpperCase() + t.slice(1)}</button>
          ))}
        </div>
        <span class="quiet small-text">{count(events.length, "event")} · {count(conversation.usage.requests, "turn")} · {(conversation.usage.input_tokens + conversation.usage.output_tokens).toLocaleString()} tokens</span>
      </div>
      {tab === "timeline" && <div class="scroll" tabIndex={0} role="group" aria-label="Timeline"><Timeline events={events} count={events.length} place={place} id={id} /></div>}
      {tab === "conversation" && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Conversation"><div class="column"><Blocks blocks={conversation.blocks} place={place} id={id} live /></div></div>
      )}
      {tab === "events" && <EventList events={events} count={events.length} />}
      {tab === "replay" && <Replay place={place} id={id} events={events} />}
    </div>
  );
}

interface ActionProps { place: Place; id: string; status?: Status; seq: number; running: boolean }

function RunActions({ place, id, status, seq, running }: ActionProps) {
  const [sure, setSure] = useState(false);
  const remove = async () => {
    await api.deleteSession(id);
    dropDraftsIn(place, id);
    void refresh();
    go("runs");
  };
  const fork = async () => {
    const session = await api.branch(id, seq);
    void refresh();
    go("chat", session.id);
  };
  const done = () => void refresh();
  return (
    <div class="bar-actions">
      {(running || place === "task" && (status === "queued" || status === "waiting")) && (
        <button type="button" onClick={() => void api.cancel(place, id).then(done)}><Icon name="stop" /> Stop</button>
      )}
      {place === "task" && (status === "failed" || status === "cancelled") && (
        <button type="button" onClick={() => void api.retryTask(id).then(done)}><Icon name="retry" /> Retry</button>
      )}
      {place === "session" && <a class="button" href={href("chat", id)}><Icon name="chat" /> Open</a>}
      {place === "session" && !running && seq > 0 && <button type="button" onClick={() => void fork()}><Icon name="branch" /> Fork</button>}
      {place === "session" && !running && !sure && <button type="button" onClick={() => setSure(true)}><Icon name="ban" /> Delete…</button>}
      {sure && <button type="button" class="danger" onClick={() => void remove()}>Delete it and all that belongs to it</button>}
      {sure && <button type="button" class="plain" onClick={() => setSure(false)}>Keep it</button>}
    </div>
  );
}

const STEP_MS = 350;

function Replay({ place, id, events }: { place: Place; id: string; events: AgentEvent[] }) {
  const [upto, setUpto] = useState(1);
  const [playing, setPlaying] = useState(true);
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => setUpto((n) => Math.min(n + 1, events.length)), STEP_MS);
    return () => clearInterval(timer);
  }, [playing, events.length]);
  const conversation = useMemo(() => {
    const past = new Conversation();
    for (const event of events.slice(0, upto)) past.apply(event);
    return past;
  }, [events, upto]);
  const event = events[upto - 1];
  return (
    <>
      <div class="scrubber">
        <button type="button" onClick={() => { if (upto >= events.length) setUpto(1); setPlaying(!playing); }}>
          <Icon name={playing ? "pause" : "play"} /> {playing ? "Pause" : "Play"}
        </button>
        <label class="hidden" for="scrub">Position</label>
        <input id="scrub" type="range" min={1} max={Math.max(1, events.length)} value={upto}
          onInput={(e) => { setPlaying(false); setUpto(Number(e.currentTarget.value)); }} />
        <span class="quiet small-text mono">{event ? `${event.seq} ${event.type}` : ""}</span>
      </div>
      <div class="scroll" tabIndex={0} role="group" aria-label="Replay"><div class="column"><Blocks blocks={conversation.blocks} place={place} id={id} live={false} /></div></div>
    </>
  );
}
