// The frame around the views: navigation, sign-in, and how the connection is.
import { useEffect, useState } from "preact/hooks";
import { api, onSignedOut, Refusal } from "./api";
import { Icon, type IconName } from "./parts/icon";
import { useTheme } from "./theme";
import { href, useRoute } from "./router";
import { listen, loadInfo, refresh, useShared } from "./shared";
import { ChatView } from "./views/chat";
import { InboxView } from "./views/inbox";
import { RunsView } from "./views/runs";
import { ToolsView } from "./views/tools";

const VIEWS: { view: string; label: string; icon: IconName }[] = [
  { view: "chat", label: "Chat", icon: "chat" },
  { view: "inbox", label: "Inbox", icon: "inbox" },
  { view: "tools", label: "Tools", icon: "tools" },
  { view: "runs", label: "Runs", icon: "runs" },
];

export function App() {
  const [signedOut, setSignedOut] = useState(false);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    onSignedOut.call = () => setSignedOut(true);
    let stop = () => {};
    void loadInfo().then(() => { void refresh(); stop = listen(); }, () => undefined);
    return () => stop();
  }, [attempt]);
  if (signedOut) return <SignIn onDone={() => { setSignedOut(false); setAttempt(attempt + 1); }} />;
  return <Frame />;
}

function Frame() {
  const { view, parts } = useRoute();
  const { online, unread, pending, info } = useShared();
  useEffect(() => {
    const waiting = pending.length ? `(${pending.length}) ` : "";
    document.title = `${waiting}${info?.app_name ?? "Toolwright"}`;
  }, [pending.length, info]);
  return (
    <div class="frame">
      <a class="skip" href="#main" onClick={(e) => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to content</a>
      <Toast />
      <Rail view={view} waiting={pending.length} />
      <main id="main" tabIndex={-1}>
        {!online && <p class="banner" role="status">The connection was lost; trying again…</p>}
        {online && unread.sessions && <p class="banner" role="status">The sessions could not be read: {unread.sessions}</p>}
        {online && unread.pending && <p class="banner" role="status">What waits for you could not be read: {unread.pending}</p>}
        {online && unread.tasks && <p class="banner" role="status">The tasks could not be read: {unread.tasks}</p>}
        {view === "inbox" ? <InboxView />
          : view === "tools" ? <ToolsView name={parts[0]} />
          : view === "runs" ? <RunsView place={parts[0]} id={parts[1]} />
          : <ChatView id={parts[0]} />}
      </main>
    </div>
  );
}

function Rail({ view, waiting }: { view: string; waiting: number }) {
  const [theme, flip] = useTheme();
  return (
    <nav class="rail" aria-label="Main">
      <a class="brand" href={href("chat")} aria-label="Toolwright"><img src="icon.svg" alt="" width="30" height="30" /></a>
      <ul>
        {VIEWS.map((item) => (
          <li key={item.view}>
            <a href={href(item.view)} aria-current={view === item.view ? "page" : undefined}>
              <Icon name={item.icon} />
              <span>{item.label}</span>
              {item.view === "inbox" && waiting > 0 && <span class="badge"><span class="hidden">, </span>{waiting}<span class="hidden"> waiting</span></span>}
            </a>
          </li>
        ))}
      </ul>
      <button type="button" class="plain theme" onClick={flip}>
        <Icon name={theme === "dark" ? "sun" : "moon"} /><span class="hidden">{theme === "dark" ? "Light" : "Dark"} colours</span>
      </button>
    </nav>
  );
}

const TOAST_MS = 6000;

/** Something that was asked for did not work: said once, wherever it was asked for. */
function Toast() {
  const [text, setText] = useState("");
  useEffect(() => {
    const failed = (event: PromiseRejectionEvent) => {
      if (!(event.reason instanceof Refusal)) return;
      event.preventDefault();
      setText(event.reason.message);
    };
    addEventListener("unhandledrejection", failed);
    return () => removeEventListener("unhandledrejection", failed);
  }, []);
  useEffect(() => {
    if (!text) return;
    const timer = setTimeout(() => setText(""), TOAST_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return <div class="toast" role="alert">{text && <p>{text}</p>}</div>;
}

function SignIn({ onDone }: { onDone(): void }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const send = async () => {
    try {
      await api.signIn(token.trim());
      onDone();
    } catch (error) {
      setProblem(error instanceof Refusal ? error.message : String(error));
    }
  };
  return (
    <main class="sign-in">
      <form onSubmit={(e) => { e.preventDefault(); void send(); }}>
        <img src="icon.svg" alt="" width="48" height="48" />
        <h1>Toolwright</h1>
        <div class="field">
          <label for="token">Token, as printed when the server started</label>
          <input id="token" type="password" autocomplete="current-password" required value={token}
            onInput={(e) => setToken(e.currentTarget.value)} />
        </div>
        {problem && <p class="bad-text" role="alert">{problem}</p>}
        <button type="submit" class="primary wide">Sign in</button>
      </form>
    </main>
  );
}
