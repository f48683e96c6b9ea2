// Reads Markdown: headings, lists, quotes, tables, code, paragraphs. Every line is looked at a fixed number of times.
import { readInline, type Budget, type Inline } from "./inline";
import { visible } from "./visible";

export type Block =
  | { kind: "code"; language: string; text: string }
  | { kind: "heading"; level: number; of: Inline[] }
  | { kind: "rule" }
  | { kind: "quote"; of: Block[] }
  | { kind: "list"; start: number | null; items: Item[] }
  | { kind: "table"; head: Cell[]; rows: Cell[][]; sides: Side[] }
  | { kind: "paragraph"; of: Inline[] };
export interface Item { task: "" | "open" | "done"; label: string; of: Inline[]; more: Block[] }
export type Cell = Inline[];
export type Side = "centre" | "right" | undefined;

type Rest = { lines: string[]; at: number; depth: number; budget: Budget };

/** What is nested deeper is shown as it was written: nobody reads it, and each level costs the stack. */
const MAX_DEPTH = 16;
const MAX_ELEMENTS = 30_000;

export function readMarkdown(text: string): Block[] {
  // Marked first, so that hidden characters are seen wherever they end up.
  return blocksOf(visible(text.replace(/\r\n?/g, "\n")).split("\n"), 0, { left: MAX_ELEMENTS });
}

function blocksOf(lines: string[], depth: number, budget: Budget): Block[] {
  if (depth > MAX_DEPTH) return [asWritten(lines)];
  const rest: Rest = { lines, at: 0, depth: depth + 1, budget };
  const blocks: Block[] = [];
  while (rest.at < lines.length) {
    if (!lines[rest.at]!.trim()) rest.at++;
    else if (budget.left-- > 0) blocks.push(nextBlock(rest));
    else return [...blocks, asWritten(lines.slice(rest.at))];
  }
  return blocks;
}

const asWritten = (lines: string[]): Block => ({ kind: "paragraph", of: [lines.join("\n")] });

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

function nextBlock(rest: Rest): Block {
  const line = rest.lines[rest.at]!;
  const fence = fenceOf(line);
  if (fence) return codeBlock(rest, fence[1]!, fence[2]!);
  const heading = HEADING.exec(line);
  if (heading) {
    rest.at++;
    const level = heading[1]!.length;
    return { kind: "heading", level, of: readInline(headingText(line, level), rest.budget) };
  }
  if (isRule(line)) { rest.at++; return { kind: "rule" }; }
  if (line.startsWith(">")) return quote(rest);
  if (LIST.test(line)) return list(rest);
  if (startsTable(rest)) return table(rest);
  return paragraph(rest);
}

function codeBlock(rest: Rest, fence: string, language: string): Block {
  const body: string[] = [];
  for (rest.at++; rest.at < rest.lines.length; rest.at++) {
    if (rest.lines[rest.at]!.trim().startsWith(fence)) { rest.at++; break; }
    body.push(rest.lines[rest.at]!);
  }
  return { kind: "code", language, text: body.join("\n") };
}

function quote(rest: Rest): Block {
  const body: string[] = [];
  while (rest.lines[rest.at]?.startsWith(">")) body.push(rest.lines[rest.at++]!.replace(/^>\s?/, ""));
  return { kind: "quote", of: blocksOf(body, rest.depth, rest.budget) };
}

function list(rest: Rest): Block {
  const [, indent = "", marker = ""] = LIST.exec(rest.lines[rest.at]!)!;
  const items: Item[] = [];
  while (rest.at < rest.lines.length && rest.budget.left > 0) {
    const match = LIST.exec(rest.lines[rest.at]!);
    if (!match || match[1]!.length < indent.length) break;
    rest.at++;
    items.push(listItem(rest, match[3]!, indent.length));
  }
  return { kind: "list", start: /\d/.test(marker) ? parseInt(marker, 10) : null, items };
}

function listItem(rest: Rest, first: string, indent: number): Item {
  const more: string[] = [];
  for (; rest.at < rest.lines.length; rest.at++) {
    const line = rest.lines[rest.at]!;
    const deep = line.search(/\S/);
    if (deep === -1 ? !/^\s+\S/.test(rest.lines[rest.at + 1] ?? "") : deep <= indent) break;
    more.push(line.slice(Math.min(deep === -1 ? 0 : deep, indent + 2)));
  }
  const task = /^\[([ xX])\]\s+(.*)$/s.exec(first);
  const label = task ? task[2]! : first;
  return {
    task: !task ? "" : task[1] === " " ? "open" : "done", label, of: readInline(label, rest.budget),
    more: more.length ? blocksOf(more, rest.depth, rest.budget) : [],
  };
}

/** A row's cells; a pipe after a backslash belongs to its cell. */
function cells(line: string): string[] {
  const inner = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function startsTable(rest: Rest): boolean {
  const line = rest.lines[rest.at] ?? "";
  const next = rest.lines[rest.at + 1] ?? "";
  if (!line.includes("|") || !next.includes("-")) return false;
  const rules = cells(next);
  return rules.every((rule) => /^:?-+:?$/.test(rule)) && cells(line).length === rules.length;
}

const sideOf = (rule: string): Side =>
  rule.endsWith(":") ? (rule.startsWith(":") ? "centre" : "right") : undefined;

function table(rest: Rest): Block {
  const read = (line: string) => cells(line).map((cell) => readInline(cell, rest.budget));
  const head = read(rest.lines[rest.at]!);
  const sides = cells(rest.lines[rest.at + 1]!).map(sideOf);
  rest.at += 2;
  const rows: Cell[][] = [];
  while (rest.lines[rest.at]?.includes("|") && rest.budget.left > 0) rows.push(read(rest.lines[rest.at++]!));
  return { kind: "table", head, rows, sides };
}

function paragraph(rest: Rest): Block {
  const lines: string[] = [];
  while (rest.at < rest.lines.length) {
    const line = rest.lines[rest.at]!;
    if (!line.trim() || fenceOf(line) || HEADING.test(line)) break;
    if (lines.length && (LIST.test(line) || line.startsWith(">") || startsTable(rest))) break;
    const underline = lines.length ? /^ {0,3}(=+|-+)\s*$/.exec(line) : null;
    rest.at++;
    if (underline) {
      return { kind: "heading", level: underline[1]!.startsWith("=") ? 1 : 2, of: readInline(lines.join("\n"), rest.budget) };
    }
    lines.push(line);
  }
  return { kind: "paragraph", of: readInline(lines.join("\n"), rest.budget) };
}
