// Reads JSON Schema far enough to make a form: references, optional types, choices, defaults.
// Schemas come from outside: they may be wrong, refer to themselves, or not describe the value at hand.
import { isNumber, isObject, own, readNumber, same } from "../exact";
import type { Json, JsonObject } from "../types";
import { visible } from "../visible";

export type Field =
  | { kind: "text"; long: boolean }
  | { kind: "number" }
  | { kind: "boolean" }
  | { kind: "choice"; options: Json[] }
  | { kind: "list"; item: JsonObject }
  | { kind: "object"; properties: Property[] }
  | { kind: "json" };
export type Property = [name: string, schema: JsonObject, required: boolean];

const MAX_HOPS = 20;

/** `schema` with its references followed and the null of an optional field taken off. */
export function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let found = schema;
  for (let hops = 0; hops < MAX_HOPS; hops++) {
    const next = typeof found.$ref === "string" ? lookUp(found.$ref, root) : onlyChoice(found);
    if (!next) break;
    const { $ref: _, anyOf: __, oneOf: ___, ...beside } = found;
    found = { ...next, ...beside };
  }
  return found;
}

function lookUp(reference: string, root: JsonObject): JsonObject | null {
  if (!reference.startsWith("#/")) return null;
  let found: Json | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    if (!isObject(found)) return null;
    found = own(found, step.replace(/~1/g, "/").replace(/~0/g, "~"));
  }
  return isObject(found) ? found : null;
}

/** The one schema that an optional field has beside null. */
function onlyChoice({ anyOf, oneOf }: JsonObject): JsonObject | null {
  const choices = anyOf ?? oneOf;
  if (!Array.isArray(choices)) return null;
  const real = choices.filter((choice) => !isObject(choice) || choice.type !== "null");
  return real.length === 1 && isObject(real[0]) ? real[0] : null;
}

/** The field for a value: the schema's, or JSON where that could not show the value as it is. */
export function fieldFor(schema: JsonObject, root: JsonObject, value: Json | undefined): Field {
  const field = fieldOf(schema, root);
  if (field.kind === "boolean" && typeof value !== "boolean") return withNull([true, false], value);
  if (field.kind === "choice") return withNull(field.options, value);
  return value === undefined || shows(field, value, root) ? field : { kind: "json" };
}

function withNull(options: Json[], value: Json | undefined): Field {
  const all = value === null && !options.includes(null) ? [...options, null] : options;
  return value === undefined || all.some((option) => same(option, value)) ? { kind: "choice", options: all } : { kind: "json" };
}

function shows(field: Field, value: Json, root: JsonObject): boolean {
  switch (field.kind) {
    case "text": return value === null || typeof value === "string" && isSeen(value);
    case "number": return value === null || isNumber(value);
    case "list": return Array.isArray(value) && same(readLines(linesOf(value), field.item, root), value) && isSeen(linesOf(value));
    case "object": return isObject(value);
    default: return true;
  }
}

/** Whether a field of text shows it as it is: nothing hidden, no line ends that it would change. */
const isSeen = (text: string) => visible(text) === text && !text.includes("\r");

function fieldOf(schema: JsonObject, root: JsonObject): Field {
  const s = resolve(schema, root);
  if (Array.isArray(s.enum)) return { kind: "choice", options: s.enum };
  if (s.const !== undefined) return { kind: "choice", options: [s.const] };
  const type = typeOf(s);
  if (type === "string") return { kind: "text", long: isLong(s) };
  if (type === "integer" || type === "number") return { kind: "number" };
  if (type === "boolean") return { kind: "boolean" };
  if (type === "array" && isObject(s.items) && isSimple(resolve(s.items, root))) return { kind: "list", item: s.items };
  if (type === "object" && isObject(s.properties)) return { kind: "object", properties: propertiesOf(s) };
  return { kind: "json" };
}

const typeOf = ({ type }: JsonObject) => (Array.isArray(type) ? type.find((t) => t !== "null") : type);
const isSimple = (item: JsonObject) => Array.isArray(item.enum) || ["string", "integer", "number"].includes(String(typeOf(item)));

export function propertiesOf(schema: JsonObject): Property[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(isObject(schema.properties) ? schema.properties : {})
    .map(([name, property]) => [name, isObject(property) ? property : {}, required.includes(name)]);
}

const LONG_NAMES = /content|text|body|code|script|prompt|message|command|query|old_string|new_string|old|new/;

function isLong(schema: JsonObject): boolean {
  const most = isNumber(schema.maxLength) ? Number(schema.maxLength) : 999;
  return !schema.format && most > 200 && LONG_NAMES.test(String(schema.title ?? "").toLowerCase());
}

export function isLongName(name: string): boolean {
  return LONG_NAMES.test(name.toLowerCase());
}

/** What a field holds before anyone has typed: its default, or nothing. */
export function initial(schema: JsonObject, root: JsonObject): JsonObject {
  return Object.fromEntries(propertiesOf(resolve(schema, root))
    .map(([name, property]): [string, Json | undefined] => [name, resolve(property, root).default])
    .filter((pair): pair is [string, Json] => pair[1] !== undefined && pair[1] !== null));
}

export const linesOf = (value: Json[]) => value.map(String).join("\n");

/** A list that is written with one item on each line. */
export function readLines(text: string, item: JsonObject, root: JsonObject): Json[] | undefined {
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.length ? lines.map((line) => readLine(line, fieldOf(item, root))) : undefined;
}

function readLine(line: string, field: Field): Json {
  if (field.kind === "choice") return field.options.find((option) => String(option) === line) ?? line;
  return field.kind === "number" ? readNumber(line.trim()) ?? line : line;
}
