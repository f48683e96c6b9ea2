// Markdown as elements: headings, lists, tables, code, links. Never as HTML, so nothing can be smuggled in.
import type { ComponentChildren, VNode } from "preact";
import { memo } from "preact/compat";
import { CopyButton } from "./copy";

type Rest = { lines: string[]; at: number };

export const Markdown = memo(({ text }: { text: string }) => {
  const rest: Rest = { lines: text.replace(/\r\n?/g, "\n").split("\n"), at: 0 };
  const blocks: VNode[] = [];
  while (rest.at < rest.lines.length) {
    const block = nextBlock(rest);
    if (block) blocks.push(block);
  }
  return <div class="prose">{blocks}</div>;
});

const LIST = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const FENCE = /^\s*(```+|~~~+)\s*([\w+-]*)/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^\s*([-*_])(\s*\1){2,}\s*$/;
const TABLE_LINE = /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

function nextBlock(rest: Rest): VNode | null {
  const line = rest.lines[rest.at]!;
  if (!line.trim()) { rest.at++; return null; }
  const fence = FENCE.exec(line);
  if (fence) return codeBlock(rest, fence[1]!, fence[2]!);
  const heading = HEADING.exec(line);
  if (heading) {
    rest.at++;
    // The page's own headings come first; a message's begin below them.
    const Tag = `h${Math.min(6, heading[1]!.length + 2)}` as "h3";
    return <Tag>{inline(heading[2]!)}</Tag>;
  }
  if (RULE.test(line)) { rest.at++; return <hr />; }
  if (line.startsWith(">")) return quote(rest);
  if (LIST.test(line)) return list(rest);
  if (line.includes("|") && TABLE_LINE.test(rest.lines[rest.at + 1] ?? "")) return table(rest);
  return paragraph(rest);
}

function codeBlock(rest: Rest, fence: string, language: string): VNode {
  const body: string[] = [];
  for (rest.at++; rest.at < rest.lines.length; rest.at++) {
    if (rest.lines[rest.at]!.trim().startsWith(fence)) { rest.at++; break; }
    body.push(rest.lines[rest.at]!);
  }
  return <CodeBlock language={language} text={body.join("\n")} />;
}

export function CodeBlock({ language, text }: { language: string; text: string }) {
  return (
    <div class="code">
      <div class="code-head"><span>{language || "text"}</span><CopyButton text={text} /></div>
      <pre tabIndex={0}><code>{text}</code></pre>
    </div>
  );
}

function quote(rest: Rest): VNode {
  const body: string[] = [];
  while (rest.lines[rest.at]?.startsWith(">")) body.push(rest.lines[rest.at++]!.replace(/^>\s?/, ""));
  return <blockquote><Markdown text={body.join("\n")} /></blockquote>;
}

function list(rest: Rest): VNode {
  const [, indent = "", marker = ""] = LIST.exec(rest.lines[rest.at]!)!;
  const items: VNode[] = [];
  while (rest.at < rest.lines.length) {
    const match = LIST.exec(rest.lines[rest.at]!);
    if (!match || match[1]!.length < indent.length) break;
    rest.at++;
    items.push(listItem(rest, match[3]!, indent.length));
  }
  return /\d/.test(marker) ? <ol start={parseInt(marker, 10)}>{items}</ol> : <ul>{items}</ul>;
}

function listItem(rest: Rest, first: string, indent: number): VNode {
  const more: string[] = [];
  for (; rest.at < rest.lines.length; rest.at++) {
    const line = rest.lines[rest.at]!;
    const deep = line.search(/\S/);
    if (deep === -1 ? !/^\s+\S/.test(rest.lines[rest.at + 1] ?? "") : deep <= indent) break;
    more.push(line.slice(Math.min(deep === -1 ? 0 : deep, indent + 2)));
  }
  const task = /^\[([ xX])\]\s+(.*)$/.exec(first);
  const text = task ? task[2]! : first;
  return (
    <li class={task ? "task" : ""}>
      {task && <input type="checkbox" disabled checked={task[1] !== " "} aria-label={text} />}
      {inline(text)}
      {more.length > 0 && <Markdown text={more.join("\n")} />}
    </li>
  );
}

function table(rest: Rest): VNode {
  const cells = (line: string) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
  const head = cells(rest.lines[rest.at]!);
  rest.at += 2;
  const rows: string[][] = [];
  while (rest.lines[rest.at]?.includes("|")) rows.push(cells(rest.lines[rest.at++]!));
  return (
    <div class="table" tabIndex={0}>
      <table>
        <thead><tr>{head.map((cell) => <th>{inline(cell)}</th>)}</tr></thead>
        <tbody>{rows.map((row) => <tr>{row.map((cell) => <td>{inline(cell)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

function paragraph(rest: Rest): VNode {
  const lines: string[] = [];
  while (rest.at < rest.lines.length) {
    const line = rest.lines[rest.at]!;
    if (!line.trim() || FENCE.test(line) || HEADING.test(line) || (lines.length && LIST.test(line))) break;
    lines.push(line);
    rest.at++;
  }
  return <p>{inline(lines.join("\n"))}</p>;
}

const INLINE =
  /(`+)(.+?)\1|\*\*(.+?)\*\*|__(.+?)__|\*([^*\s][^*]*?)\*|\b_([^_\s][^_]*?)_\b|~~(.+?)~~|\[([^\]]+)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>)\]]+)/s;

function inline(text: string): ComponentChildren {
  const out: ComponentChildren[] = [];
  for (let rest = text; rest; ) {
    const found = INLINE.exec(rest);
    if (!found) { out.push(rest); break; }
    if (found.index) out.push(rest.slice(0, found.index));
    out.push(element(found));
    rest = rest.slice(found.index + found[0].length);
  }
  return out;
}

function element(found: RegExpExecArray): ComponentChildren {
  const [whole, , code, bold, bold2, italic, italic2, struck, label, address, bare] = found;
  if (code !== undefined) return <code>{code}</code>;
  if (bold ?? bold2) return <strong>{inline((bold ?? bold2)!)}</strong>;
  if (italic ?? italic2) return <em>{inline((italic ?? italic2)!)}</em>;
  if (struck) return <del>{inline(struck)}</del>;
  const target = address ?? bare;
  if (target && /^(https?:|mailto:)/.test(target)) {
    return <a href={target} target="_blank" rel="noopener noreferrer">{label ?? target}</a>;
  }
  return label ?? whole;
}
