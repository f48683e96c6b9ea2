// Talk to the agent: sessions on one side, the conversation, and what it works on beside it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api } from "../api";
import { waits, type Call, type Conversation } from "../conversation";
import { keepDraft, messageTo } from "../drafts";
import { Blocks, whyStopped, type Actions } from "../parts/blocks";
import { Composer } from "../parts/composer";
import { textOf } from "../parts/content";
import { Icon } from "../parts/icon";
import { SessionList } from "../parts/sessions";
import { SidePanel } from "../parts/side";
import { Welcome } from "../parts/welcome";
import { go } from "../router";
import { isSettled, refresh, useShared } from "../shared";
import type { Session } from "../types";
import { useConversation } from "../use-conversation";

export function ChatView({ id }: { id?: string }) {
  const { info, sessions } = useShared();
  const [panel, setPanel] = useState(false);
  const [list, setList] = useState(false);
  const title = sessions.find((session) => session.id === id)?.title;
  useEffect(() => setList(false), [id]);
  return (
    <div class={`chat ${panel ? "with-panel" : ""} ${list ? "with-list" : ""}`}>
      <SessionList current={id} onNew={() => { setList(false); go("chat"); }} />
      <div class="chat-main">
        <header class="bar">
          <button type="button" class="plain only-phone" aria-expanded={list} onClick={() => setList(!list)}>
            <Icon name="list" /> <span class="hidden">Sessions</span>
          </button>
          <h1>{title || (id ? "Conversation" : "New conversation")}</h1>
          {info && <span class="quiet small-text model-name">{info.agent.model}</span>}
          {id && (
            <button type="button" class="plain" aria-pressed={panel} onClick={() => setPanel(!panel)}>
              <Icon name="panel" /> <span class="hidden">Plan, files and cost</span>
            </button>
          )}
        </header>
        {id ? <Talk key={id} id={id} panel={panel} closePanel={() => setPanel(false)} /> : <NewTalk />}
      </div>
    </div>
  );
}

function NewTalk() {
  const start = async (text: string) => {
    const session = await api.newSession();
    await api.run(session.id, text);
    void refresh();
    go("chat", session.id);
  };
  return (
    <>
      <div class="scroll" tabIndex={0} role="group" aria-label="Welcome"><Welcome onPick={(prompt) => void start(prompt)} /></div>
      <Composer to="" running={false} onSend={start} onStop={async () => {}} />
    </>
  );
}

function Talk({ id, panel, closePanel }: { id: string; panel: boolean; closePanel(): void }) {
  const { conversation, connected } = useConversation("session", id);
  const { sessions } = useShared();
  const scroll = useRef<HTMLDivElement>(null);
  const atEnd = useFollowEnd(scroll);
  const session = conversation.running ? undefined : sessions.find((s) => s.id === id);
  const ended = session ? standsStill(session, conversation) : "";

  // The same object from draw to draw: a new one would draw every block again.
  const actions = useMemo(() => actionsFor(id), [id]);

  return (
    <>
      {!connected && <p class="banner" role="status">Connecting to the server…</p>}
      <p class="hidden" role="status">{heard(conversation, (call) => !isSettled("session", id, call.pending), ended)}</p>
      <div class="talk">
        <div class="talk-main">
          <div class="scroll" ref={scroll} tabIndex={0} role="log" aria-label="Conversation" aria-live="off">
            <div class="column">
              <Blocks blocks={conversation.blocks} place="session" id={id} live actions={conversation.running ? undefined : actions} />
              {ended && (
                <p class="note">{ended} <button type="button" class="small" onClick={() => void api.resume(id)}>Go on</button></p>
              )}
            </div>
            {!atEnd.now && (
              <button type="button" class="to-end" onClick={atEnd.go}><Icon name="chevron" /> Latest</button>
            )}
          </div>
          <Composer to={id} running={conversation.running}
            onSend={(text) => (conversation.running ? api.steer("session", id, text) : api.run(id, text))}
            onStop={() => api.cancel("session", id)} />
        </div>
        <SidePanel open={panel} id={id} conversation={conversation} onClose={closePanel} />
      </div>
    </>
  );
}

/** Said of a run that the person has stopped: nothing goes on without them. */
const KEPT = "You stopped this run. What has come since, an answer or the end of a deadline, is kept until you go on.";

/** Said of a run that nothing was left to wait for. */
const CUT_OFF = "You can go on with this run: a reply that was cut off is written anew, and a call that was cut off is only repeated where its tool allows that.";

/** What is said of a session that goes on only when the person wants it to; nothing where they are to answer first. */
function standsStill({ status, can_go_on }: Session, { blocks }: Conversation): string {
  if (status === "interrupted") return "This run was interrupted.";
  if (can_go_on) return KEPT;
  const turn = blocks.findLast((block) => block.kind === "turn");
  return status === "stopped" && !turn?.calls.some((call) => call && waits(call)) ? CUT_OFF : "";
}

/** What a screen reader says of the run: how it stands, and the answer once it is whole. */
function heard({ running, blocks }: Conversation, isOpen: (call: Call) => boolean, ended: string): string {
  const turn = blocks.findLast((block) => block.kind === "turn");
  if (turn?.calls.some((call) => call && waits(call, isOpen))) return "A call waits for your answer";
  if (running) return "The agent is working";
  const waiting = blocks.some((block) => block.kind === "turn" && block.calls.some((call) => call && waits(call, isOpen)));
  const still = waiting ? "A call still waits for your answer. " : "";
  const last = blocks.at(-1);
  if (last?.kind === "ended" && last.status === "stopped") return `The agent has stopped. Reason: ${whyStopped(last)}. ${still}${ended}`;
  if (ended) return ended;
  return turn ? `The agent is done. ${still}${turn.text.slice(0, 500)}` : "";
}

/** Going back always makes another session; nothing that happened is changed. */
function actionsFor(id: string): Actions {
  const branchAt = async (upto: number) => {
    const session = await api.branch(id, upto);
    void refresh();
    return session.id;
  };
  return {
    edit: (said) => void branchAt(said.seq - 1).then((key) => {
      keepDraft(messageTo(key), textOf(said.parts));
      go("chat", key);
    }),
    retry: (said) => void branchAt(said.seq - 1).then(async (key) => {
      await api.run(key, textOf(said.parts));
      go("chat", key);
    }),
    branch: (seq) => void branchAt(seq).then((key) => go("chat", key)),
  };
}

/** Keep the end in sight while new things come, unless the person has scrolled away from it. */
function useFollowEnd(scroll: { current: HTMLDivElement | null }) {
  const [now, setNow] = useState(true);
  const wanted = useRef(true);
  useEffect(() => {
    const box = scroll.current!;
    const toEnd = () => { if (wanted.current) box.scrollTop = box.scrollHeight; };
    const moved = () => {
      wanted.current = box.scrollHeight - box.scrollTop - box.clientHeight < 80;
      setNow(wanted.current);
    };
    const grown = new ResizeObserver(toEnd);
    grown.observe(box.firstElementChild!);
    box.addEventListener("scroll", moved, { passive: true });
    return () => { grown.disconnect(); box.removeEventListener("scroll", moved); };
  }, []);
  const end = () => {
    wanted.current = true;
    scroll.current!.scrollTop = scroll.current!.scrollHeight;
  };
  return { now, go: end };
}
