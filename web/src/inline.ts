// Reads the inside of a paragraph: code, emphasis, links, line breaks. Takes a time that grows with the text,
// whatever is in it: every sign is looked at once, and a partner is found without searching the rest.

export type Inline =
  | string
  | { kind: "code"; text: string }
  | { kind: Emphasis; of: Inline[] }
  | { kind: "link"; address: string; of: Inline[]; bare: boolean }
  | { kind: "image"; address: string; alt: string }
  | { kind: "break" };
export type Emphasis = "em" | "strong" | "del";

/** What is nested deeper is shown as it was written: nobody reads it, and each level costs the stack. */
const MAX_DEPTH = 16;

/** A row of `*`, `_` or `~`; what of it is emphasis is known when its partners are. */
interface Row {
  sign: string;
  length: number;
  opens: boolean;
  closes: boolean;
  /** Signs that have found no partner. */
  left: number;
  /** What ends and begins here, from left to right. */
  ended: Emphasis[];
  begun: Emphasis[];
}
interface Bracket { at: number; from: number; image: boolean }
type Item =
  | string
  | { row: Row }
  | { node: Inline }
  | { bracket: Bracket; text: string; address?: string }
  | { linkEnd: true };

const ESCAPED = String.raw`\\[!-/:-@[-\x60{-~]`;
// No two neighbours that match the same sign can share a run of it.
const SIGN = new RegExp(
  [ESCAPED, String.raw`\\\n|(?<! ) {2,}\n`, "`+|\\*+|_+|~+", String.raw`!?\[|\]`,
    String.raw`<https?:\/\/[^\s<>]+>`, String.raw`https?:\/\/[^\s<>\]]+`].join("|"), "gi");

/** How many more elements a message may have; the rest of it is plain text. A browser takes seconds for millions. */
export interface Budget { left: number }

export function readInline(text: string, budget: Budget): Inline[] {
  const items = new Reader(text).read(budget.left);
  budget.left -= items.length;
  return nested(items);
}

class Reader {
  private items: Item[] = [];
  /** Where the rows are that still look for a partner. */
  private rows: number[] = [];
  private brackets: Bracket[] = [];
  /** Links have no links inside: brackets that were opened before this item make none. */
  private lastLink = -1;
  private at = 0;
  private ticks: Map<number, number[]>;
  private text: string;

  constructor(text: string) {
    this.text = text;
    this.ticks = rowsOfTicks(text);
  }

  read(most: number): Item[] {
    const sign = new RegExp(SIGN);
    for (let found; this.items.length < most && (found = sign.exec(this.text)); sign.lastIndex = this.at) {
      if (found.index > this.at) this.items.push(this.text.slice(this.at, found.index));
      this.at = found.index + found[0].length;
      this.take(found[0], found.index);
    }
    this.items.push(this.text.slice(this.at));
    this.pairRows(0);
    return this.items;
  }

  private take(sign: string, at: number): void {
    const first = sign[0]!;
    if (sign.endsWith("\n")) this.node({ kind: "break" });
    else if (first === "\\") this.items.push(sign[1]!);
    else if (first === "`") this.code(sign, at);
    else if (first === "*" || first === "_" || first === "~") this.openRow(sign, at);
    else if (first === "[" || first === "!") this.openBracket(sign);
    else if (first === "]") this.closeBracket();
    else if (first === "<") this.bare(sign.slice(1, -1));
    else {
      const address = withoutEnd(sign);
      this.at = at + address.length;
      this.bare(address);
    }
  }

  private node(node: Inline): void {
    this.items.push({ node });
  }

  private code(ticks: string, at: number): void {
    const same = this.ticks.get(ticks.length) ?? [];
    // Signs are taken in order, so what lies behind is never asked for again.
    while (same.length && same.at(-1)! <= at) same.pop();
    const end = same.at(-1);
    if (end === undefined) this.items.push(ticks);
    else {
      this.node({ kind: "code", text: codeText(this.text.slice(this.at, end).replace(/\n/g, " ")) });
      this.at = end + ticks.length;
    }
  }

  private bare(address: string): void {
    this.node({ kind: "link", address, of: [address], bare: true });
  }

  private openRow(signs: string, at: number): void {
    const before = this.text.slice(Math.max(0, at - 2), at);
    const after = this.text.slice(this.at, this.at + 2);
    const follows = /\S$/u.test(before), leads = /^\S/u.test(after);
    const inWord = signs[0] === "_";
    const isOne = signs[0] !== "~" || signs.length === 2;
    const row: Row = {
      sign: signs[0]!, length: signs.length, left: signs.length, ended: [], begun: [],
      opens: isOne && leads && !(inWord && /[\p{L}\p{N}]$/u.test(before)),
      closes: isOne && follows && !(inWord && /^[\p{L}\p{N}]/u.test(after)),
    };
    this.rows.push(this.items.length);
    this.items.push({ row });
  }

  private openBracket(sign: string): void {
    const bracket = { at: this.items.length, from: this.at, image: sign === "![" };
    this.brackets.push(bracket);
    this.items.push({ bracket, text: sign });
  }

  private closeBracket(): void {
    const open = this.brackets.pop();
    const target = open && this.text[this.at] === "(" ? readTarget(this.text, this.at + 1) : null;
    if (!open || !target || open.at < this.lastLink) { this.items.push("]"); return; }
    const label = this.text.slice(open.from, this.at - 1);
    this.at = target.end;
    // Only what came along is shown: an address would be a request to another server.
    if (open.image && /^data:image\//i.test(target.address)) {
      this.items.length = open.at;
      while (this.rows.length && this.rows.at(-1)! > open.at) this.rows.pop();
      this.node({ kind: "image", address: target.address, alt: unescaped(label) });
      return;
    }
    this.pairRows(open.at);
    this.lastLink = open.at;
    this.items[open.at] = { bracket: open, text: "", address: target.address };
    this.items.push({ linkEnd: true });
  }

  /** Find the partners of the rows after this item; they have none outside it. */
  private pairRows(after: number): void {
    const found: Row[] = [];
    while (this.rows.length && this.rows.at(-1)! >= after) found.push((this.items[this.rows.pop()!] as { row: Row }).row);
    pair(found.reverse());
  }
}

/** Where the rows of so many backticks begin, the last one first. */
function rowsOfTicks(text: string): Map<number, number[]> {
  const rows = new Map<number, number[]>();
  for (const found of [...text.matchAll(/`+/g)].reverse()) {
    const same = rows.get(found[0].length);
    if (same) same.push(found.index);
    else rows.set(found[0].length, [found.index]);
  }
  return rows;
}

/** Code without the one space that keeps its own backticks from those around it. */
const codeText = (text: string) =>
  text.startsWith(" ") && text.endsWith(" ") && text.trim() ? text.slice(1, -1) : text;

// -- emphasis -----------------------------------------------------------------------------------

/** Each row that closes finds the last one that opens; what lies between has lost its chance. */
function pair(rows: Row[]): void {
  const openers: number[] = [];
  // Where a row of the same kind has looked in vain, the next one need not look.
  const looked = new Map<string, number>();
  rows.forEach((closer, at) => {
    const kind = `${closer.sign}${closer.opens}${closer.length % 3}`;
    while (closer.closes && closer.left) {
      let top = openers.length - 1;
      while (top >= 0 && openers[top]! >= (looked.get(kind) ?? 0) && !fit(rows[openers[top]!]!, closer)) top--;
      if (top < 0 || openers[top]! < (looked.get(kind) ?? 0)) { looked.set(kind, at); break; }
      openers.length = top + 1;
      join(rows[openers[top]!]!, closer);
      if (!rows[openers[top]!]!.left) openers.pop();
    }
    if (closer.opens && closer.left) openers.push(at);
  });
}

/** Whether two rows are partners. `a**b*c**` is no `*` within the first two: hence the rule of three. */
function fit(opener: Row, closer: Row): boolean {
  if (opener.sign !== closer.sign) return false;
  return !(opener.closes || closer.opens) || (opener.length + closer.length) % 3 !== 0 || opener.length % 3 === 0;
}

function join(opener: Row, closer: Row): void {
  const size = opener.left >= 2 && closer.left >= 2 ? 2 : 1;
  const kind = opener.sign === "~" ? "del" : size === 2 ? "strong" : "em";
  opener.begun.push(kind);
  closer.ended.push(kind);
  opener.left -= size;
  closer.left -= size;
}

// -- links --------------------------------------------------------------------------------------

const MAX_ROUND = 3;
const SPACE = /\s{0,9}/y;
const SIMPLE = /[^\s()<\\]*/y;

function matchAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + pattern.exec(text)![0].length;
}

/** The address, and perhaps a title, in the round brackets after a label; null when there is none. */
function readTarget(text: string, from: number): { address: string; end: number } | null {
  const start = matchAt(SPACE, text, from);
  let at = text[start] === "<" ? endOfAngle(text, start) : endOfAddress(text, start);
  if (at < 0) return null;
  const address = unescaped(text[start] === "<" ? text.slice(start + 1, at - 1) : text.slice(start, at));
  const title = matchAt(SPACE, text, at);
  if (title > at && (text[title] === '"' || text[title] === "'")) {
    at = text.indexOf(text[title]!, title + 1) + 1;
    if (!at) return null;
  }
  const end = matchAt(SPACE, text, at);
  return text[end] === ")" ? { address, end: end + 1 } : null;
}

function endOfAngle(text: string, start: number): number {
  const found = /[<>\n]/g;
  found.lastIndex = start + 1;
  const end = found.exec(text);
  return end?.[0] === ">" ? end.index + 1 : -1;
}

/** Brackets within an address come in pairs, and are not nested deep. */
function endOfAddress(text: string, start: number): number {
  let round = 0;
  for (let at = start; ; at++) {
    at = matchAt(SIMPLE, text, at);
    const sign = text[at];
    if (sign === "\\") at++;
    else if (sign === "(" && ++round > MAX_ROUND) return -1;
    else if (sign === ")" && round-- === 0) return at;
    else if (sign !== "(" && sign !== ")") return round ? -1 : at;
  }
}

const unescaped = (text: string) => text.replace(/\\([!-/:-@[-`{-~])/g, "$1");

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

// -- from signs in a row to what is inside what ---------------------------------------------------

interface Frame { of: Inline[]; close(): void }

function nested(items: Item[]): Inline[] {
  const all: Inline[] = [];
  const frames: Frame[] = [{ of: all, close: () => {} }];
  let links = 0;
  const add = (node: Inline) => {
    const { of } = frames.at(-1)!;
    const last = of.at(-1);
    if (typeof node === "string" && typeof last === "string") of[of.length - 1] = last + node;
    else if (node !== "") of.push(node);
  };
  const open = (before: string, after: string, make: (of: Inline[]) => Inline) => {
    if (frames.length > MAX_DEPTH) {
      add(before);
      frames.push({ of: frames.at(-1)!.of, close: () => add(after) });
    } else {
      const of: Inline[] = [];
      frames.push({ of, close: () => add(make(of)) });
    }
  };
  const close = () => frames.pop()!.close();
  for (const item of items) {
    if (typeof item === "string") add(item);
    else if ("node" in item) add(links && typeof item.node === "object" && item.node.kind === "link" ? item.node.address : item.node);
    else if ("linkEnd" in item) { links--; close(); }
    else if ("bracket" in item) {
      const { address } = item;
      if (address === undefined) { add(item.text); continue; }
      links++;
      open("[", `](${address})`, (of) => ({ kind: "link", address, of, bare: false }));
    } else {
      const { sign, left, ended, begun } = item.row;
      ended.forEach(close);
      add(sign.repeat(left));
      for (const kind of begun.reverse()) {
        const signs = sign.repeat(kind === "em" ? 1 : 2);
        open(signs, signs, (of) => ({ kind, of }));
      }
    }
  }
  return all;
}
