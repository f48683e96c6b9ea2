// JSON whose numbers keep their own text: what a tool is called with is neither rounded nor rewritten.
// The one place that reads and writes JSON.
import type { Json, JsonObject } from "./types";

/** A number that JavaScript would write differently: beyond 2^53, with many digits, `1.0`, `1e5`, `-0`. */
export class Exact {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toString(): string {
    return this.text;
  }
  toJSON(): never {
    throw new TypeError("Write it with `stringify`: JSON.stringify would round it.");
  }
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Exact);

export const isNumber = (value: Json | undefined): value is number | Exact =>
  typeof value === "number" || value instanceof Exact;

export const same = (a: Json | undefined, b: Json | undefined): boolean =>
  a === undefined || b === undefined ? a === b : stringify(a) === stringify(b);

/** What an object itself has under a name: `constructor` and the like are not inherited. */
export const own = (value: JsonObject, name: string): Json | undefined =>
  Object.hasOwn(value, name) ? value[name] : undefined;

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A number as a person or JSON writes it; undefined when it is none. */
export function readNumber(text: string): number | Exact | undefined {
  if (!NUMBER.test(text)) return undefined;
  return String(Number(text)) === text ? Number(text) : new Exact(text);
}

/** The values in what the server sends that belong to tools; all else is the page's own. */
const OF_TOOLS = new Set(["arguments", "payload", "data", "state_delta", "delta", "schema", "parameters", "answer"]);

/** What the server has sent. The page's own numbers (times, counts, prices) are plain ones. */
export const parseSent = <T>(text: string): T => read(text, false) as T;

/** Any JSON; throws what `JSON.parse` throws. */
export const parse = (text: string): Json => read(text, true);

const TOKEN = /[{}[\]"]|-?\d[\d.eE+-]*|true|false|null/g;
const ODD_NUMBER = /\d{16}|\d[.eE]|-0/;

type Open = { into: Json[] | JsonObject; key: string | null; exact: boolean };

function read(text: string, exact: boolean): Json {
  // The browser's own parser says what is wrong; what has passed it is put together again below,
  // without recursion, since nothing bounds how deep it is nested.
  const plain = JSON.parse(text) as Json;
  if (!ODD_NUMBER.test(text)) return plain;
  const stack: Open[] = [{ into: [], key: null, exact }];
  const root = stack[0]!.into as Json[];
  for (const token of tokensOf(text)) {
    const top = stack.at(-1)!;
    const first = token[0]!;
    if (first === "}" || first === "]") stack.pop();
    else if (first === '"' && !Array.isArray(top.into) && top.key === null) top.key = JSON.parse(token) as string;
    else if (first === "{" || first === "[") {
      const into = first === "{" ? {} : [];
      stack.push({ into, key: null, exact: top.exact || OF_TOOLS.has(top.key ?? "") });
      put(top, into);
    } else {
      const isOdd = /[-\d]/.test(first) && (top.exact || OF_TOOLS.has(top.key ?? ""));
      put(top, isOdd ? readNumber(token)! : (JSON.parse(token) as Json));
    }
  }
  return root[0]!;
}

function* tokensOf(text: string): Generator<string> {
  const next = new RegExp(TOKEN);
  for (let found; (found = next.exec(text)); ) {
    if (found[0] === '"') next.lastIndex = endOfString(text, found.index);
    yield text.slice(found.index, next.lastIndex);
  }
}

/** Behind the quote that is not escaped. No pattern: one that skips escapes fails on millions of them. */
function endOfString(text: string, start: number): number {
  for (let end = start; ; ) {
    end = text.indexOf('"', end + 1);
    let escapes = end;
    while (text[escapes - 1] === "\\") escapes--;
    if ((end - escapes) % 2 === 0) return end + 1;
  }
}

function put(open: Open, value: Json): void {
  if (Array.isArray(open.into)) open.into.push(value);
  // An assignment to `__proto__` would not make a property.
  else Object.defineProperty(open.into, open.key!, { value, writable: true, enumerable: true, configurable: true });
  open.key = null;
}

/** Deeper levels are written on one line: indenting them would take more room than they do. */
const MAX_INDENTED = 12;

/** JSON text, every number as it was read; on lines of their own for people. */
export function stringify(value: Json, indented = false): string {
  const out: string[] = [];
  const todo: Todo = [{ value, depth: 0 }];
  while (todo.length) {
    const next = todo.pop()!;
    if (typeof next === "string") out.push(next);
    else if (next.value instanceof Exact) out.push(next.value.text);
    else if (typeof next.value !== "object" || next.value === null) out.push(JSON.stringify(next.value));
    else writeParts(next.value, next.depth, indented, todo);
  }
  return out.join("");
}

type Todo = (string | { value: Json; depth: number })[];

/** Put the parts of a value on the list of what is to be written, the last one first. */
function writeParts(value: Json[] | JsonObject, depth: number, indented: boolean, todo: Todo): void {
  const isList = Array.isArray(value);
  const line = (level: number) => (!indented ? "" : depth >= MAX_INDENTED ? "" : `\n${"  ".repeat(level)}`);
  const parts: [string, Json][] = isList
    ? value.map((item) => ["", item])
    : Object.entries(value).filter(([, item]) => item !== undefined).map(([key, item]) => [`${JSON.stringify(key)}:${indented ? " " : ""}`, item]);
  const gap = indented && depth >= MAX_INDENTED ? ", " : ",";
  todo.push(parts.length ? `${line(depth)}${isList ? "]" : "}"}` : isList ? "]" : "}");
  for (let at = parts.length - 1; at >= 0; at--) {
    const [head, item] = parts[at]!;
    todo.push({ value: item, depth: depth + 1 }, `${at ? gap : ""}${line(depth + 1)}${head}`);
  }
  todo.push(isList ? "[" : "{");
}
