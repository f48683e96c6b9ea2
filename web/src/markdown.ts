// Reads Markdown (CommonMark, tables, struck text, tasks, bare addresses) into plain values. What it means is
// markdown-it's affair; what may be shown, how deep and how much, is decided here.
import MarkdownIt, { type Token } from "markdown-it";
import cjkFriendly from "markdown-it-cjk-friendly";
import { visible } from "./visible";

export type Inline =
  | string
  | { kind: "code"; text: string }
  | { kind: "em" | "strong" | "del"; of: Inline[] }
  | { kind: "link"; address: string; of: Inline[] }
  | { kind: "image"; address: string; alt: string }
  | { kind: "break" };
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

/** What is nested deeper is shown as it was written: nobody reads it, and each level costs the stack. */
const MAX_DEPTH = 16;
/** A message with more elements is plain text from there on: a browser takes seconds for millions. */
const MAX_ELEMENTS = 30_000;
/** A list is two levels, its own and that of its item. */
const MAX_LEVEL = 2 * MAX_DEPTH;

const reader = new MarkdownIt({ html: false, linkify: true }).use(cjkFriendly);
// The part that draws links decides which ones lead anywhere, and shows the address as it was written.
reader.validateLink = () => true;
reader.normalizeLink = reader.normalizeLinkText = (address) => address;
reader.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
for (const scheme of ["ftp:", "mailto:", "//"]) reader.linkify.add(scheme, null);
reader.block.ruler.before("table", "too_deep", (state, from, to, silent) => {
  if (state.level < MAX_LEVEL) return false;
  if (silent) return true;
  let end = from + 1;
  while (end < to && (state.isEmpty(end) || state.sCount[end]! >= state.blkIndent)) end++;
  state.push("as_written", "p", 0).content = state.getLines(from, end, state.blkIndent, false).trimEnd();
  state.line = end;
  return true;
});

export function readMarkdown(text: string): Block[] {
  // Marked first, so that hidden characters are seen wherever they end up.
  const written = visible(text.replace(/\r\n?/g, "\n"));
  const blocks: Block[] = [];
  let left = MAX_ELEMENTS;
  for (const tokens of topLevel(reader.parse(written, {}))) {
    left -= tokens.reduce((sum, token) => sum + (token.nesting >= 0 && !token.hidden ? 1 : 0) + (token.children?.length ?? 0), 0);
    if (left < 0) return [...blocks, asWritten(written.split("\n").slice(tokens[0]!.map?.[0]).join("\n"))];
    blocks.push(...blocksOf(new Tokens(tokens)));
  }
  return blocks;
}

const asWritten = (text: string): Block => ({ kind: "paragraph", of: [text] });

/** The tokens of each block that is in no other. */
function topLevel(tokens: Token[]): Token[][] {
  const groups: Token[][] = [];
  let group: Token[] = [];
  for (const token of tokens) {
    group.push(token);
    if (token.level || token.nesting > 0) continue;
    groups.push(group);
    group = [];
  }
  return groups;
}

/** Tokens that are taken one after the other. */
class Tokens {
  private at = 0;
  constructor(private readonly all: Token[]) {}

  /** The next token, unless what surrounds it ends here. */
  next(): Token | null {
    const token = this.all[this.at++];
    return token && token.nesting >= 0 ? token : null;
  }

  /** What `make` gives for each token up to the end of what surrounds it. */
  each<T>(make: (token: Token) => T): T[] {
    const made: T[] = [];
    for (let token; (token = this.next()); ) made.push(make(token));
    return made;
  }
}

// -- blocks -------------------------------------------------------------------------------------

const blocksOf = (tokens: Tokens): Block[] => tokens.each((token) => block(token, tokens));

function block(token: Token, tokens: Tokens): Block {
  switch (token.type) {
    case "fence":
    case "code_block":
      return { kind: "code", language: /^[\w+-]*/.exec(token.info.trim())![0], text: visible(token.content.replace(/\n$/, "")) };
    case "hr": return { kind: "rule" };
    case "heading_open": return { kind: "heading", level: Number(token.tag[1]), of: line(tokens) };
    case "blockquote_open": return { kind: "quote", of: blocksOf(tokens) };
    case "bullet_list_open": return { kind: "list", start: null, items: tokens.each(() => item(tokens)) };
    case "ordered_list_open":
      return { kind: "list", start: Number(token.attrGet("start") ?? 1), items: tokens.each(() => item(tokens)) };
    case "table_open": return table(tokens);
    case "paragraph_open": return { kind: "paragraph", of: line(tokens) };
    default: return asWritten(token.content);
  }
}

/** The inside of a block that has nothing but text. */
const line = (tokens: Tokens): Inline[] => tokens.each((token) => inlineOf(token.children ?? [])).flat();

function item(tokens: Tokens): Item {
  const blocks = blocksOf(tokens);
  const first = blocks[0]?.kind === "paragraph" ? blocks.shift() as Block & { kind: "paragraph" } : null;
  const of = first?.of ?? [];
  const task = typeof of[0] === "string" ? /^\[([ xX])\]\s+/.exec(of[0]) : null;
  if (task) of[0] = (of[0] as string).slice(task[0].length);
  return { task: !task ? "" : task[1] === " " ? "open" : "done", label: task ? words(of) : "", of, more: blocks };
}

/** A table's first row is in a group of its own; the rest, if there is any, in another. */
function table(tokens: Tokens): Block {
  const sides: Side[] = [];
  const cell = (token: Token): Cell => {
    if (token.type === "th_open") sides.push(SIDES[token.attrGet("style") ?? ""]);
    return line(tokens);
  };
  const [head = [], body = []] = tokens.each(() => tokens.each(() => tokens.each(cell)));
  return { kind: "table", head: head[0] ?? [], rows: body, sides };
}

const SIDES: { [style: string]: Side } = { "text-align:center": "centre", "text-align:right": "right" };

// -- inside a paragraph ---------------------------------------------------------------------------

const addressOf = (token: Token, name: string): string => visible(String(token.attrGet(name) ?? ""));
const KINDS = { em_open: "em", strong_open: "strong", s_open: "del" } as const;

function inlineOf(tokens: Token[]): Inline[] {
  const all: Inline[] = [];
  const open: Inline[][] = [all];
  let inLink = false;
  const add = (node: Inline) => {
    const of = open.at(-1)!;
    const last = of.at(-1);
    if (typeof node === "string" && typeof last === "string") of[of.length - 1] = last + node;
    else if (node !== "") of.push(node);
  };
  for (const token of tokens) {
    if (token.type.startsWith("link_")) inLink = token.nesting > 0;
    if (token.nesting > 0 && open.length <= MAX_DEPTH) {
      const of: Inline[] = [];
      const kind = KINDS[token.type as keyof typeof KINDS];
      add(kind ? { kind, of } : { kind: "link", address: addressOf(token, "href"), of });
      open.push(of);
    } else if (token.nesting > 0) {
      add(token.markup);
      open.push(open.at(-1)!);
    } else if (token.nesting < 0) {
      const of = open.pop();
      if (of === open.at(-1)) add(token.markup);
    } else add(leaf(token, inLink));
  }
  return all;
}

function leaf(token: Token, inLink: boolean): Inline {
  switch (token.type) {
    case "code_inline": return { kind: "code", text: visible(token.content) };
    case "softbreak": return "\n";
    case "hardbreak": return { kind: "break" };
    case "image": return picture(addressOf(token, "src"), words(inlineOf(token.children ?? [])), inLink);
    // Again: `&#x202e;` was a plain text until now.
    default: return visible(token.content);
  }
}

/** Only what came along is shown: an address would be a request to another server. A link has no link inside. */
function picture(address: string, alt: string, inLink: boolean): Inline {
  if (/^data:image\//i.test(address)) return { kind: "image", address, alt };
  return inLink ? alt : { kind: "link", address, of: alt ? [alt] : [] };
}

/** The text alone. */
const words = (parts: Inline[]): string =>
  parts.map((part) => {
    if (typeof part === "string") return part;
    if (part.kind === "break") return "\n";
    return part.kind === "code" ? part.text : part.kind === "image" ? part.alt : words(part.of);
  }).join("");
