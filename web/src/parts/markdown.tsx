// Markdown as elements. Never as HTML, so nothing can be smuggled in.
import type { ComponentChildren, VNode } from "preact";
import { memo } from "preact/compat";
import { readMarkdown, type Block, type Cell, type Inline, type Item, type Side } from "../markdown";
import { CopyButton } from "./copy";
import { LinkOut } from "./link";

export const Markdown = memo(({ text }: { text: string }) => <Prose blocks={readMarkdown(text)} />);

const Prose = ({ blocks }: { blocks: Block[] }) => <div class="prose">{blocks.map(drawn)}</div>;

function drawn(block: Block): VNode {
  switch (block.kind) {
    case "code": return <CodeBlock language={block.language} text={block.text} />;
    case "rule": return <hr />;
    case "quote": return <blockquote><Prose blocks={block.of} /></blockquote>;
    case "table": return <Table {...block} />;
    case "paragraph": return <p>{block.of.map(inline)}</p>;
    case "heading": {
      // The page's own headings come first; a message's begin below them.
      const Tag = `h${Math.min(6, block.level + 2)}` as "h3";
      return <Tag>{block.of.map(inline)}</Tag>;
    }
    case "list": {
      const items = block.items.map(listItem);
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
  }
}

function listItem({ task, label, of, more }: Item): VNode {
  return (
    <li class={task && "task"}>
      {task && <input type="checkbox" disabled checked={task === "done"} aria-label={label} />}
      {of.map(inline)}
      {more.length > 0 && <Prose blocks={more} />}
    </li>
  );
}

function Table({ head, rows, sides }: { head: Cell[]; rows: Cell[][]; sides: Side[] }) {
  return (
    <div class="table" tabIndex={0}>
      <table>
        <thead><tr>{head.map((cell, n) => <th class={sides[n]}>{cell.map(inline)}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => <tr>{row.map((cell, n) => <td class={sides[n]}>{cell.map(inline)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

export function CodeBlock({ language, text }: { language: string; text: string }) {
  return (
    <div class="code">
      <div class="code-head"><span>{language || "text"}</span><CopyButton text={text} /></div>
      <pre tabIndex={0}><code>{text}</code></pre>
    </div>
  );
}

function inline(part: Inline): ComponentChildren {
  if (typeof part === "string") return part;
  switch (part.kind) {
    case "code": return <code>{part.text}</code>;
    case "strong": return <strong>{part.of.map(inline)}</strong>;
    case "em": return <em>{part.of.map(inline)}</em>;
    case "del": return <del>{part.of.map(inline)}</del>;
    case "break": return <br />;
    case "image": return <img src={part.address} alt={part.alt} />;
    case "link": {
      const { address, of } = part;
      if (!of.length || (of.length === 1 && of[0] === address)) return <LinkOut address={address} bare>{address}</LinkOut>;
      return <LinkOut address={address}>{of.map(inline)}</LinkOut>;
    }
  }
}
