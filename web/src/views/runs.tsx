// All sessions and tasks: find them by text and status, watch the queue, open one.
import { useEffect, useState } from "preact/hooks";
import { api } from "../api";
import { useDraft } from "../drafts";
import { Icon } from "../parts/icon";
import { StatusChip, StatusMark } from "../parts/status";
import { go, href } from "../router";
import { refresh, useShared } from "../shared";
import type { Json, Place, Status } from "../types";
import { ago } from "../words";
import { RunView } from "./run";

const FILTERS: (Status | "")[] = ["", "running", "waiting", "queued", "done", "stopped", "failed", "cancelled", "interrupted"];
const SHOWN = 300;

interface Row { place: Place; id: string; title: string; who: string; status: Status; at: number; by_hand: boolean }

export function RunsView({ place, id }: { place?: string; id?: string }) {
  if (id && (place === "session" || place === "task")) return <RunView key={id} place={place} id={id} />;
  return <RunList />;
}

function useRows(): Row[] {
  const { sessions, tasks } = useShared();
  const rows: Row[] = [
    ...sessions.map((s): Row => ({ place: "session", id: s.id, title: s.title, who: s.user_id, status: s.status, at: s.updated_at, by_hand: s.by_hand })),
    ...tasks.map((t): Row => ({ place: "task", id: t.id, title: t.title, who: t.owner_id, status: t.status, at: t.updated_at, by_hand: false })),
  ];
  return rows.sort((a, b) => b.at - a.at);
}

function RunList() {
  const { info } = useShared();
  const rows = useRows();
  const [wanted, setWanted] = useState("");
  const [status, setStatus] = useState<Status | "">("");
  const found = rows.filter((row) => (!status || row.status === status)
    && `${row.title} ${row.id} ${row.who}`.toLowerCase().includes(wanted.toLowerCase()));
  const used = FILTERS.filter((filter) => !filter || rows.some((row) => row.status === filter));
  return (
    <div class="page-view">
      <header class="bar"><h1>Runs and tasks</h1><span class="quiet">{rows.length} in all</span></header>
      <div class="scroll" tabIndex={0} role="group" aria-label="All runs">
        <div class="column wide-column">
          {info && <Counters rows={rows} tasks={info.features.tasks} />}
          {info?.features.tasks && <NewTask agent={info.agent.name} />}
          <div class="filters">
            <label class="search">
              <Icon name="search" /><span class="hidden">Search runs</span>
              <input type="search" placeholder="Search" value={wanted} onInput={(e) => setWanted(e.currentTarget.value)} />
            </label>
            <div class="tabs" role="group" aria-label="Status">
              {used.map((filter) => (
                <button type="button" key={filter} aria-pressed={status === filter} onClick={() => setStatus(filter)}>{filter ? filter[0]!.toUpperCase() + filter.slice(1) : "All"}</button>
              ))}
            </div>
          </div>
          <ul class="rows run-rows">
            {found.slice(0, SHOWN).map((row) => (
              <li key={`${row.place}/${row.id}`}>
                <a href={href("runs", row.place, row.id)}>
                  <StatusMark status={row.status} />
                  <span class="strong row-title">{row.title || row.id}</span>
                  <span class="chip quiet">{row.place === "task" ? "Task" : row.by_hand ? "By hand" : "Session"}</span>
                  <StatusChip status={row.status} />
                  <span class="quiet small-text row-time">{row.who} · {ago(row.at)}</span>
                </a>
              </li>
            ))}
          </ul>
          {found.length === 0 && <p class="quiet pick">{rows.length ? "Nothing fits." : "Nothing has run yet."}</p>}
        </div>
      </div>
    </div>
  );
}

function NewTask({ agent }: { agent: string }) {
  const [message, setMessage] = useDraft("task/new", "");
  const [problem, setProblem] = useState("");
  const send = async () => {
    try {
      const task = await api.enqueue(agent, message);
      setMessage("");
      setProblem("");
      void refresh();
      go("runs", "task", task.id);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form class="new-task" onSubmit={(e) => { e.preventDefault(); void send(); }}>
      <label class="hidden" for="new-task">Task for {agent}</label>
      <input id="new-task" type="text" required autocomplete="off" value={message}
        placeholder={`A task for ${agent}, to be worked on in the background`} onInput={(e) => setMessage(e.currentTarget.value)} />
      <button type="submit"><Icon name="plus" /> Enqueue</button>
      {problem && <p class="bad-text" role="alert">{problem}</p>}
    </form>
  );
}

const EVERY_MS = 2000;
const ALWAYS: Status[] = ["running", "waiting", "done"];
const OF_TASKS: { [name: string]: string } = { busy_workers: "busy workers", done_last_minute: "tasks done last minute" };

/** How many of the rows below are in each state, and how busy the workers are. */
function Counters({ rows, tasks }: { rows: Row[]; tasks: boolean }) {
  const workers = useWorkers(tasks);
  const states = FILTERS.filter((status): status is Status => status !== "");
  const tiles: [string, number][] = states
    .map((status): [Status, number] => [status, rows.filter((row) => row.status === status).length])
    .filter(([status, number]) => number > 0 || ALWAYS.includes(status));
  const shown = [...tiles, ...Object.entries(OF_TASKS).flatMap(([name, label]): [string, number][] => {
    const number = workers[name];
    return typeof number === "number" ? [[label, number]] : [];
  })];
  return (
    <dl class="tiles">
      {shown.map(([name, number]) => (
        <div key={name}><dt>{name}</dt><dd>{number.toLocaleString()}</dd></div>
      ))}
    </dl>
  );
}

function useWorkers(wanted: boolean): { [name: string]: Json } {
  const [numbers, setNumbers] = useState<{ [name: string]: Json }>({});
  useEffect(() => {
    if (!wanted) return;
    const read = () => void api.queue().then(setNumbers, () => undefined);
    read();
    const timer = setInterval(() => { if (!document.hidden) read(); }, EVERY_MS);
    return () => clearInterval(timer);
  }, [wanted]);
  return numbers;
}
