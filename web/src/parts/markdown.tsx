// Markdown as elements: headings, lists, tables, code, links. Never as HTML, so nothing can be smuggled in.
import type { ComponentChildren, VNode } from "preact";
import { memo } from "preact/compat";
import { visible } from "../visible";
import { CopyButton } from "./copy";
import { LinkOut } from "./link";

type Rest = { lines: string[]; at: number; depth: number };

/** What is nested deeper is shown as it was written: nobody reads it, and each level costs the stack. */
const MAX_DEPTH = 16;

export const Markdown = memo(({ text, depth = 0 }: { text: string; depth?: number }) => {
  if (depth > MAX_DEPTH) return <p>{text}</p>;
  // Marked first, so that no character from outside is taken for one that was set aside below.
  const rest: Rest = { lines: visible(text.replace(/\r\n?/g, "\n")).split("\n"), at: 0, depth: depth + 1 };
  const blocks: VNode[] = [];
  while (rest.at < rest.lines.length) {
    const block = nextBlock(rest);
    if (block) blocks.push(block);
  }
  return <div class="prose">{blocks}</div>;
});

// Patterns take a time that grows with the line, not with its square: no two neighbours that match
// the same sign can share a run of it.
const LIST = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/s;
const FENCE = /^\s*(```+|~~~+)\s*([\w+-]*)/;
const HEADING = /^(#{1,6})\s/;

/** The fence that opens a block of code; backticks that are closed on their line are code within it. */
function fenceOf(line: string): RegExpExecArray | null {
  const fence = FENCE.exec(line);
  return fence?.[1]!.startsWith("`") && line.includes("`", fence[0].length) ? null : fence;
}

/** A heading's text, without the signs that may close it. */
function headingText(line: string, level: number): string {
  const text = line.slice(level).trim();
  let end = text.length;
  while (text[end - 1] === "#") end--;
  return end === 0 || /\s/.test(text[end - 1]!) ? text.slice(0, end).trimEnd() : text;
}

const isRule = (line: string) => /^(?:-{3,}|\*{3,}|_{3,})$/.test(line.replace(/\s+/g, ""));

function nextBlock(rest: Rest): VNode | null {
  const line = rest.lines[rest.at]!;
  if (!line.trim()) { rest.at++; return null; }
  const fence = fenceOf(line);
  if (fence) return codeBlock(rest, fence[1]!, fence[2]!);
  const heading = HEADING.exec(line);
  if (heading) {
    rest.at++;
    // The page's own headings come first; a message's begin below them.
    const Tag = `h${Math.min(6, heading[1]!.length + 2)}` as "h3";
    return <Tag>{inline(headingText(line, heading[1]!.length))}</Tag>;
  }
  if (isRule(line)) { rest.at++; return <hr />; }
  if (line.startsWith(">")) return quote(rest);
  if (LIST.test(line)) return list(rest);
  if (startsTable(rest)) return table(rest);
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
  return <blockquote><Markdown text={body.join("\n")} depth={rest.depth} /></blockquote>;
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
  const task = /^\[([ xX])\]\s+(.*)$/s.exec(first);
  const text = task ? task[2]! : first;
  return (
    <li class={task ? "task" : ""}>
      {task && <input type="checkbox" disabled checked={task[1] !== " "} aria-label={text} />}
      {inline(text)}
      {more.length > 0 && <Markdown text={more.join("\n")} depth={rest.depth} />}
    </li>
  );
}

type Row = string[];

/** A row's cells; a pipe after a backslash belongs to its cell. */
function cells(line: string): Row {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function startsTable(rest: Rest): boolean {
  const [line = "", next = ""] = rest.lines.slice(rest.at, rest.at + 2);
  if (!line.includes("|") || !next.includes("-")) return false;
  const rules = cells(next);
  return rules.every((rule) => /^:?-+:?$/.test(rule)) && cells(line).length === rules.length;
}

const sideOf = (rule: string) =>
  rule.endsWith(":") ? (rule.startsWith(":") ? "centre" : "right") : undefined;

function table(rest: Rest): VNode {
  const head = cells(rest.lines[rest.at]!);
  const sides = cells(rest.lines[rest.at + 1]!).map(sideOf);
  rest.at += 2;
  const rows: Row[] = [];
  while (rest.lines[rest.at]?.includes("|")) rows.push(cells(rest.lines[rest.at++]!));
  return (
    <div class="table" tabIndex={0}>
      <table>
        <thead><tr>{head.map((cell, n) => <th class={sides[n]}>{inline(cell)}</th>)}</tr></thead>
        <tbody>{rows.map((row) => <tr>{head.map((_, n) => <td class={sides[n]}>{inline(row[n] ?? "")}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

function paragraph(rest: Rest): VNode {
  const lines: string[] = [];
  while (rest.at < rest.lines.length) {
    const line = rest.lines[rest.at]!;
    if (!line.trim() || fenceOf(line) || HEADING.test(line)) break;
    if (lines.length && (LIST.test(line) || line.startsWith(">") || startsTable(rest))) break;
    const underline = lines.length ? /^ {0,3}(=+|-+)\s*$/.exec(line) : null;
    rest.at++;
    if (underline) {
      const Tag = underline[1]!.startsWith("=") ? "h3" : "h4";
      return <Tag>{inline(lines.join("\n"))}</Tag>;
    }
    lines.push(line);
  }
  return <p>{inline(lines.join("\n"))}</p>;
}

// -- inside a line ------------------------------------------------------------------------------

/** Signs after a backslash stand for themselves: they are set aside before anything is looked for. */
const ASIDE = 0xf0000;
const protect = (text: string) =>
  text.replace(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)|\\([!-/:-@[-`{-~])/g,
    (whole: string, _: string, sign?: string) => (sign ? String.fromCodePoint(ASIDE + sign.charCodeAt(0)) : whole));
const restore = (text: string) =>
  text.replace(/[\u{f0021}-\u{f007e}]/gu, (sign) => String.fromCharCode(sign.codePointAt(0)! - ASIDE));

const ADDRESS = String.raw`(<[^<>\n]*>|(?:[^\s()<]|\((?:[^\s()]|\([^\s()]*\))*\))*)`;
const TITLE = String.raw`(?:\s{1,9}(?:"[^"]*"|'[^']*'))?`;
const INLINE = new RegExp([
  "(?<ticks>(?<!`)`+(?!`))(?<code>[\\s\\S]*?)(?<!`)\\k<ticks>(?!`)",
  String.raw`\*\*(?<bold>.+?)\*\*`,
  String.raw`(?<!\w)__(?<bold2>.{1,999}?)__(?!\w)`,
  String.raw`\*(?<italic>[^*\s][^*]*?)\*`,
  String.raw`(?<!\w)_(?<italic2>[^_\s][^_]*?)_(?!\w)`,
  "~~(?<struck>.+?)~~",
  String.raw`(?<image>!?)\[(?<label>(?:[^\[\]]|\[[^\[\]]*\])*)\]\(\s{0,9}(?<address>${ADDRESS})${TITLE}\s{0,9}\)`,
  String.raw`<(?<auto>https?:\/\/[^\s<>]+)>`,
  String.raw`(?<bare>https?:\/\/[^\s<>\]]+)`,
  String.raw`(?<hard>(?<! ) {2,}\n|\\\n)`,
].join("|"), "is");

function inline(text: string): ComponentChildren {
  return pieces(protect(text));
}

function pieces(text: string): ComponentChildren {
  const out: ComponentChildren[] = [];
  for (let rest = text; rest; ) {
    const found = INLINE.exec(rest);
    if (!found) { out.push(restore(rest)); break; }
    if (found.index) out.push(restore(rest.slice(0, found.index)));
    const bare = found.groups!.bare === undefined ? found[0] : withoutEnd(found[0]);
    out.push(element(found.groups!, bare));
    rest = rest.slice(found.index + bare.length);
  }
  return out;
}

function element(is: { [name: string]: string | undefined }, whole: string): ComponentChildren {
  if (is.code !== undefined) return <code>{codeText(is.code.replace(/\n/g, " "))}</code>;
  if (is.bold ?? is.bold2) return <strong>{pieces((is.bold ?? is.bold2)!)}</strong>;
  if (is.italic ?? is.italic2) return <em>{pieces((is.italic ?? is.italic2)!)}</em>;
  if (is.struck) return <del>{pieces(is.struck)}</del>;
  if (is.hard) return <br />;
  if (is.label === undefined) return link(restore(is.auto ?? whole), restore(is.auto ?? whole));
  const address = restore(is.address!.replace(/^<|>$/g, ""));
  // Only what came along is shown: an address would be a request to another server.
  if (is.image && /^data:image\//i.test(address)) return <img src={address} alt={restore(is.label)} />;
  return link(address, is.label);
}

/** Code without the one space that keeps its own backticks from those around it. */
const codeText = (text: string) =>
  text.startsWith(" ") && text.endsWith(" ") && text.trim() ? text.slice(1, -1) : text;

function link(address: string, label: string): ComponentChildren {
  if (label === address) return <LinkOut address={address} bare>{address}</LinkOut>;
  return <LinkOut address={address}>{label ? pieces(label) : address}</LinkOut>;
}

/** A bare address without the sentence's own signs: a full stop, a bracket that was opened before it. */
function withoutEnd(address: string): string {
  let end = address.length;
  let unopened = address.split(")").length - address.split("(").length;
  for (; end; end--) {
    const last = address[end - 1]!;
    if (last === ")" ? unopened-- <= 0 : !".,;:!?'\"*_~".includes(last)) break;
  }
  return address.slice(0, end);
}
