// A conversation's blocks, drawn in pages: a page out of sight keeps its height and nothing else.
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Block, Ended, Note, Said, Turn } from "../conversation";
import type { Place } from "../types";
import { duration, money } from "../words";
import { Boundary } from "./boundary";
import { CallCard } from "./call";
import { Blob, textOf } from "./content";
import { Icon } from "./icon";
import { LongText } from "./long";
import { Markdown } from "./markdown";

export interface Actions {
  /** Go back to before this message and put it in the composer. */
  edit?(said: Said): void;
  retry?(said: Said): void;
  /** A new session that has everything up to this event. */
  branch?(seq: number): void;
}
interface Props { blocks: Block[]; place: Place; id: string; live: boolean; actions?: Actions }

const PAGE = 40;

export function Blocks(props: Props) {
  const { blocks, ...rest } = props;
  if (blocks.length <= PAGE * 2) return <Page {...rest} blocks={blocks} version={blocks.length} />;
  const pages: Block[][] = [];
  for (let start = 0; start < blocks.length; start += PAGE) pages.push(blocks.slice(start, start + PAGE));
  return <>{pages.map((page, index) => <LazyPage key={index} {...rest} blocks={page} last={index === pages.length - 1} />)}</>;
}

function LazyPage({ last, ...props }: Props & { last: boolean }) {
  const holder = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(last);
  const height = useRef(PAGE * 90);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => setNear(entries.some((entry) => entry.isIntersecting)),
      { root: holder.current!.closest(".scroll"), rootMargin: "1200px 0px" },
    );
    observer.observe(holder.current!);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (near) height.current = holder.current!.offsetHeight || height.current;
  });
  return (
    <div ref={holder} class="page" style={near ? {} : { height: `${height.current}px` }}>
      {near && <Page {...props} version={props.blocks.length} />}
    </div>
  );
}

function Page({ blocks, place, id, live, actions }: Props & { version: number }) {
  return <>{blocks.map((block) => <BlockView key={block.key} block={block} place={place} id={id} live={live} actions={actions} />)}</>;
}

const BlockView = memo((props: Omit<Props, "blocks"> & { block: Block }) => (
  <Boundary name="message" value={props.block}><KindOfBlock {...props} /></Boundary>
));

function KindOfBlock({ block, place, id, live, actions }: Omit<Props, "blocks"> & { block: Block }) {
  switch (block.kind) {
    case "said": return <SaidView said={block} actions={actions} />;
    case "turn": return <TurnView turn={block} place={place} id={id} live={live} actions={actions} />;
    case "note": return <NoteView note={block} />;
    case "ended": return <EndedView ended={block} />;
  }
}

function NoteView({ note }: { note: Note }) {
  if (note.detail === undefined) return <p class="note">{note.text}</p>;
  return (
    <article class="update" aria-label={note.text}>
      <p class="note">{note.text}</p>
      <LongText text={note.detail} />
    </article>
  );
}

function SaidView({ said, actions }: { said: Said; actions?: Actions }) {
  return (
    <article class="said" aria-label={said.steered ? "Your message into the run" : "Your message"}>
      <div class="bubble">
        {said.steered && <span class="chip quiet">Steered</span>}
        <Markdown text={textOf(said.parts)} />
        {said.parts.map((part, index) => part.kind === "blob" && <Blob key={index} blob={part} />)}
      </div>
      {actions?.edit && !said.steered && (
        <div class="block-actions">
          <button type="button" class="plain small" onClick={() => actions.edit!(said)}><Icon name="edit" /> Edit</button>
          <button type="button" class="plain small" onClick={() => actions.retry!(said)}><Icon name="retry" /> Retry</button>
        </div>
      )}
    </article>
  );
}

function TurnView({ turn, place, id, live, actions }: Omit<Props, "blocks"> & { turn: Turn }) {
  const thinking = turn.writing && !turn.text && !turn.reasoning && !turn.calls.length;
  return (
    <article class="turn" aria-label={`Turn of ${turn.agent}`} aria-busy={turn.writing}>
      {turn.isStep && <p class="note">{turn.agent}</p>}
      {turn.reasoning && (
        <details class="reasoning">
          <summary><Icon name="think" /> {turn.writing && !turn.text ? "Thinking…" : "Thought"}</summary>
          <Markdown text={turn.reasoning} />
        </details>
      )}
      {thinking && <p class="thinking" role="status"><span class="dots" aria-hidden="true"><i /><i /><i /></span><span class="hidden">The model is thinking</span></p>}
      {turn.text && <Markdown text={turn.text} />}
      {turn.images.map((part, index) => part.kind === "blob" && <Blob key={index} blob={part} />)}
      {turn.calls.length > 0 && (
        <div class={turn.calls.length > 1 ? "calls parallel" : "calls"}>
          {turn.calls.map((call) => call && <CallCard key={call.id} call={call} place={place} id={id} live={live} />)}
        </div>
      )}
      {!turn.writing && actions?.branch && (
        <div class="block-actions">
          <button type="button" class="plain small" onClick={() => actions.branch!(turn.cut)}><Icon name="branch" /> Branch from here</button>
          <TurnCost turn={turn} />
        </div>
      )}
    </article>
  );
}

function TurnCost({ turn }: { turn: Turn }) {
  const { usage } = turn;
  if (!usage) return null;
  const facts = [
    usage.input_tokens + usage.output_tokens > 0 && `${(usage.input_tokens + usage.output_tokens).toLocaleString()} tokens`,
    usage.cached_tokens > 0 && `${usage.cached_tokens.toLocaleString()} from cache`,
    usage.cost > 0 && money(usage.cost),
    turn.endedAt > turn.at && duration(turn.endedAt - turn.at),
  ].filter(Boolean);
  return <span class="quiet small-text">{facts.join(" · ")}</span>;
}

/** Only an end that needs a word gets one: a call that waits says so itself. */
function EndedView({ ended }: { ended: Ended }) {
  if (ended.status !== "stopped") return null;
  return <p class="note bad-text">Stopped: {whyStopped(ended)}</p>;
}

export const whyStopped = ({ reason }: Ended) => reason || "no reason was given";
