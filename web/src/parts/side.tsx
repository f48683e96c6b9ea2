// Beside a conversation: its plan, its files and artifacts, what it has cost, its state.
import { useEffect, useState } from "preact/hooks";
import { api, artifactAddress, fileAddress } from "../api";
import type { Conversation } from "../conversation";
import { isObject, stringify } from "../exact";
import { useShared } from "../shared";
import type { ArtifactInfo, FileEntry, Json, JsonObject } from "../types";
import { bytes, money } from "../words";
import { Icon } from "./icon";

interface Props { open: boolean; id: string; conversation: Conversation; onClose(): void }

export function SidePanel({ open, id, conversation, onClose }: Props) {
  const { info } = useShared();
  const todos = todosOf(conversation.state);
  if (!open && !todos.length) return null;
  return (
    <aside class={`side ${open ? "open" : ""}`} aria-label="Plan, files and cost">
      <button type="button" class="plain only-phone close" onClick={onClose}><Icon name="cross" /> Close</button>
      {todos.length > 0 && <Todos todos={todos} />}
      {info?.features.files && <Files changed={conversation.seq} />}
      {info?.features.artifacts && <Artifacts id={id} changed={conversation.artifacts} />}
      <Cost conversation={conversation} />
      <StateView state={conversation.state} />
    </aside>
  );
}

interface Todo { text: string; status: string }

/** The plan that the todo tools keep in the session's state. */
function todosOf(state: JsonObject): Todo[] {
  const found = Object.entries(state).find(([key, value]) => /(^|[:_])todos?$/.test(key) && Array.isArray(value));
  return ((found?.[1] as Json[] | undefined) ?? []).flatMap((item) => {
    if (!isObject(item)) return [];
    return [{ text: String(item.content ?? item.text ?? item.title ?? ""), status: String(item.status ?? "pending") }];
  });
}

function Todos({ todos }: { todos: Todo[] }) {
  const done = todos.filter((todo) => todo.status === "completed" || todo.status === "done").length;
  return (
    <section>
      <h2>Plan <span class="quiet">{done} of {todos.length}</span></h2>
      <ul class="todos">
        {todos.map((todo, index) => (
          <li key={index} class={todo.status}>
            <span class="todo-mark" aria-hidden="true">{todo.status === "completed" || todo.status === "done" ? <Icon name="check" /> : todo.status === "in_progress" ? <span class="spin" /> : null}</span>
            <span>{todo.text}<span class="hidden"> ({todo.status.replace("_", " ")})</span></span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Files({ changed }: { changed: number }) {
  return (
    <section>
      <h2>Files</h2>
      <Folder path="/" changed={changed} />
    </section>
  );
}

function Folder({ path, changed }: { path: string; changed: number }) {
  const [entries, setEntries] = useState<FileEntry[]>([]);
  useEffect(() => {
    const timer = setTimeout(() => void api.files(path).then(setEntries, () => setEntries([])), 300);
    return () => clearTimeout(timer);
  }, [path, changed]);
  if (!entries.length) return <p class="quiet small-text">Empty.</p>;
  return (
    <ul class="files">
      {entries.map((entry) => {
        const name = entry.path.replace(/\/$/, "").split("/").pop();
        return (
          <li key={entry.path}>
            {entry.is_dir
              ? <details><summary><Icon name="folder" /> {name}</summary><Folder path={entry.path} changed={changed} /></details>
              : <a href={fileAddress(entry.path)} target="_blank" rel="noopener"><Icon name="file" /> {name} <span class="quiet">{bytes(entry.size)}</span></a>}
          </li>
        );
      })}
    </ul>
  );
}

function Artifacts({ id, changed }: { id: string; changed: number }) {
  const [found, setFound] = useState<ArtifactInfo[]>([]);
  useEffect(() => void api.artifacts(id).then(setFound, () => setFound([])), [id, changed]);
  if (!found.length) return null;
  return (
    <section>
      <h2>Artifacts</h2>
      <ul class="files">
        {found.map((artifact) => (
          <li key={artifact.name}>
            <a href={artifactAddress(id, artifact.name)} download={artifact.name}><Icon name="file" /> {artifact.name} <span class="quiet">{bytes(artifact.size)} · v{artifact.version}</span></a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Cost({ conversation: { usage } }: { conversation: Conversation }) {
  return (
    <section>
      <h2>Cost</h2>
      <dl class="numbers">
        <div><dt>Turns</dt><dd>{usage.requests.toLocaleString()}</dd></div>
        <div><dt>Tokens in</dt><dd>{usage.input_tokens.toLocaleString()}</dd></div>
        <div><dt>… from cache</dt><dd>{usage.cached_tokens.toLocaleString()}</dd></div>
        {usage.cache_write_tokens > 0 && <div><dt>… to cache</dt><dd>{usage.cache_write_tokens.toLocaleString()}</dd></div>}
        <div><dt>Tokens out</dt><dd>{usage.output_tokens.toLocaleString()}</dd></div>
        {usage.cost > 0 && <div><dt>Price</dt><dd>{money(usage.cost)}</dd></div>}
      </dl>
    </section>
  );
}

function StateView({ state }: { state: JsonObject }) {
  if (!Object.keys(state).length) return null;
  return (
    <details class="more">
      <summary>State</summary>
      <pre tabIndex={0}>{stringify(state, true)}</pre>
    </details>
  );
}
