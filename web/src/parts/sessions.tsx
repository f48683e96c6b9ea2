// The list of sessions: find one, open it, begin another.
import { useState } from "preact/hooks";
import { href } from "../router";
import { useShared } from "../shared";
import type { Session } from "../types";
import { ago } from "../words";
import { Icon } from "./icon";
import { StatusMark } from "./status";

const SHOWN = 200;

export function SessionList({ current, onNew }: { current?: string; onNew(): void }) {
  const { sessions, unread } = useShared();
  const [wanted, setWanted] = useState("");
  const found = sessions.filter((session) => !session.by_hand && fits(session, wanted));
  return (
    <aside class="sessions" aria-label="Sessions">
      <button type="button" class="primary wide" onClick={onNew}><Icon name="plus" /> New conversation</button>
      <label class="search">
        <Icon name="search" /><span class="hidden">Search sessions</span>
        <input type="search" placeholder="Search" value={wanted} onInput={(e) => setWanted(e.currentTarget.value)} />
      </label>
      <nav aria-label="Sessions">
        <ul>
          {found.slice(0, SHOWN).map((session) => (
            <li key={session.id}>
              <a href={href("chat", session.id)} aria-current={session.id === current ? "page" : undefined}>
                <StatusMark status={session.status} />
                <span class="session-title">{session.title || "Untitled"}</span>
                <span class="quiet small-text">{ago(session.updated_at)}</span>
              </a>
            </li>
          ))}
          {found.length === 0 && <li class="quiet empty">{unread.sessions ? "Could not be read." : wanted ? "Nothing fits." : "Nothing here yet."}</li>}
        </ul>
      </nav>
    </aside>
  );
}

export function fits(session: Session, wanted: string): boolean {
  const text = `${session.title} ${session.id} ${session.user_id}`.toLowerCase();
  return wanted.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
