// All tools of the agent: what the model is told, what it costs to tell, and a form to try each.
import { useState } from "preact/hooks";
import { api, Refusal } from "../api";
import { stringify } from "../exact";
import { Boundary } from "../parts/boundary";
import { Contents } from "../parts/content";
import { CopyButton } from "../parts/copy";
import { SchemaForm } from "../parts/form";
import { Icon } from "../parts/icon";
import { Markdown } from "../parts/markdown";
import { initial } from "../parts/schema";
import { StatusChip } from "../parts/status";
import { href } from "../router";
import { useShared } from "../shared";
import { useTools } from "../tools";
import { asCli, asCurl, asPython } from "../snippets";
import type { CallState } from "../conversation";
import { outcomeOf } from "../outcome";
import type { JsonObject, ToolInfo, ToolResult } from "../types";
import { count, duration } from "../words";

export function ToolsView({ name }: { name?: string }) {
  const tools = useTools();
  const [wanted, setWanted] = useState("");
  const found = tools.filter((tool) => `${tool.name} ${tool.description}`.toLowerCase().includes(wanted.toLowerCase()));
  const tool = tools.find((t) => t.name === name);
  const tokens = tools.reduce((total, t) => total + t.tokens, 0);
  return (
    <div class={`page-view split ${tool ? "with-detail" : ""}`}>
      <header class="bar">
        <h1>Tools</h1>
        <span class="quiet">{count(tools.length, "tool")} · about {tokens.toLocaleString()} tokens per turn</span>
      </header>
      <div class="split-body">
        <div class="split-list scroll">
          <label class="search">
            <Icon name="search" /><span class="hidden">Search tools</span>
            <input type="search" placeholder="Search" value={wanted} onInput={(e) => setWanted(e.currentTarget.value)} />
          </label>
          <nav aria-label="Tools">
            <ul class="rows">
              {found.map((t) => (
                <li key={t.name}>
                  <a href={href("tools", t.name)} aria-current={t.name === name ? "page" : undefined}>
                    <span class="mono strong">{t.name}</span>
                    <EffectsChip effects={t.effects} />
                    <span class="row-detail">{firstLine(t.description)}</span>
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        </div>
        <div class="split-detail scroll">
          {tool ? <Boundary key={tool.name} name="tool" value={tool}><ToolDetail tool={tool} /></Boundary> : <p class="quiet pick">Choose a tool to read its schema and run it by hand.</p>}
        </div>
      </div>
    </div>
  );
}

const firstLine = (text: string) => text.split("\n", 1)[0];
const TONES = { read: "good", write: "busy", destructive: "bad" } as const;

function EffectsChip({ effects }: { effects: ToolInfo["effects"] }) {
  const words = { read: "Reads", write: "Writes", destructive: "Can destroy" };
  return <span class={`chip ${TONES[effects]}`}>{words[effects]}</span>;
}

function ToolDetail({ tool }: { tool: ToolInfo }) {
  const [args, setArgs] = useState<JsonObject>(() => initial(tool.parameters, tool.parameters));
  return (
    <article class="tool">
      <a class="back only-phone" href={href("tools")}><Icon name="chevron" class="flipped" /> All tools</a>
      <h2 class="mono">{tool.name}</h2>
      <p class="chips">
        <EffectsChip effects={tool.effects} />
        <span class="chip quiet">about {tool.tokens} tokens</span>
        {tool.tags.map((tag) => <span class="chip quiet" key={tag}>{tag}</span>)}
      </p>
      <Markdown text={tool.description} />
      <TryIt tool={tool} args={args} setArgs={setArgs} />
      <details class="more">
        <summary>Schema</summary>
        <pre tabIndex={0}>{stringify(tool.parameters, true)}</pre>
      </details>
    </article>
  );
}

type Outcome = { result: ToolResult; session_id: string; elapsed: number } | { problem: string };

function TryIt({ tool, args, setArgs }: { tool: ToolInfo; args: JsonObject; setArgs(args: JsonObject): void }) {
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [busy, setBusy] = useState(false);
  const token = useShared().info?.features.token ?? false;
  const run = async () => {
    setBusy(true);
    try {
      setOutcome(await api.callTool(tool.name, args));
    } catch (error) {
      const issues = error instanceof Refusal ? error.issues : [];
      setOutcome({ problem: [(error as Error).message, ...issues].join("\n") });
    }
    setBusy(false);
  };
  return (
    <section class="try" aria-label="Run by hand">
      <h3>Run by hand</h3>
      <form onSubmit={(e) => { e.preventDefault(); void run(); }}>
        <SchemaForm schema={tool.parameters} value={args} onChange={setArgs} />
        <div class="buttons">
          <button type="submit" class="primary" disabled={busy}><Icon name="play" /> {busy ? "Running…" : "Run"}</button>
          <CopyButton text={asPython(tool, args, token)} label="Python" />
          <CopyButton text={asCurl(tool, args, token)} label="curl" />
          <CopyButton text={asCli(tool, args)} label="CLI" />
        </div>
      </form>
      <div role="status">{outcome && <OutcomeView outcome={outcome} />}</div>
    </section>
  );
}

function OutcomeView({ outcome }: { outcome: Outcome }) {
  if ("problem" in outcome) return <pre class="result bad-text">{outcome.problem}</pre>;
  const { result, elapsed, session_id } = outcome;
  if (result.status === "pending") {
    return <p class="notice">This call waits for an answer: see it in the <a href={href("inbox")}>inbox</a> or <a href={href("chat", session_id)}>follow it</a>.</p>;
  }
  return (
    <div class="outcome">
      <p><StatusChip status={outcomeOf(result) as CallState} /> <span class="quiet">{duration(elapsed)}</span></p>
      <Contents parts={result.content} />
      {result.data != null && <details class="more"><summary>Data</summary><pre tabIndex={0}>{stringify(result.data, true)}</pre></details>}
    </div>
  );
}
