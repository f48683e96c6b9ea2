// Reads JSON Schema far enough to make a form: references, optional types, choices, defaults.
import type { Json, JsonObject } from "../types";

export type Field =
  | { kind: "text"; long: boolean }
  | { kind: "number"; whole: boolean; min?: number; max?: number }
  | { kind: "boolean" }
  | { kind: "choice"; options: Json[] }
  | { kind: "list"; item: JsonObject }
  | { kind: "object"; properties: [string, JsonObject, boolean][] }
  | { kind: "json" };

/** `schema` with its reference followed and the null of an optional field taken off. */
export function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let found = schema;
  for (let hops = 0; typeof found.$ref === "string" && hops < 20; hops++) {
    const target = lookUp(found.$ref, root);
    if (!target) break;
    const { $ref: _, ...beside } = found;
    found = { ...target, ...beside };
  }
  const choices = (found.anyOf ?? found.oneOf) as JsonObject[] | undefined;
  if (choices) {
    const real = choices.filter((choice) => choice.type !== "null");
    if (real.length === 1) {
      const { anyOf: _, oneOf: __, ...beside } = found;
      return resolve({ ...real[0]!, ...beside }, root);
    }
  }
  return found;
}

function lookUp(reference: string, root: JsonObject): JsonObject | null {
  if (!reference.startsWith("#/")) return null;
  let found: Json | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    if (!found || typeof found !== "object" || Array.isArray(found)) return null;
    found = found[step.replace(/~1/g, "/").replace(/~0/g, "~")];
  }
  return (found as JsonObject) ?? null;
}

export function fieldOf(schema: JsonObject, root: JsonObject): Field {
  const s = resolve(schema, root);
  if (Array.isArray(s.enum)) return { kind: "choice", options: s.enum };
  if (s.const !== undefined) return { kind: "choice", options: [s.const] };
  const type = Array.isArray(s.type) ? s.type.find((t) => t !== "null") : s.type;
  if (type === "string") return { kind: "text", long: isLong(s) };
  if (type === "integer" || type === "number") {
    return { kind: "number", whole: type === "integer", min: num(s.minimum), max: num(s.maximum) };
  }
  if (type === "boolean") return { kind: "boolean" };
  if (type === "array" && isSimple(s.items as JsonObject, root)) return { kind: "list", item: s.items as JsonObject };
  if (type === "object" && s.properties) return { kind: "object", properties: propertiesOf(s) };
  return { kind: "json" };
}

export function propertiesOf(schema: JsonObject): [string, JsonObject, boolean][] {
  const required = (schema.required as string[] | undefined) ?? [];
  return Object.entries((schema.properties as { [name: string]: JsonObject } | undefined) ?? {})
    .map(([name, property]) => [name, property, required.includes(name)]);
}

const LONG_NAMES = /content|text|body|code|script|prompt|message|command|query|old_string|new_string|old|new/;

function isLong(schema: JsonObject): boolean {
  return !schema.format && (num(schema.maxLength) ?? 999) > 200 && LONG_NAMES.test(String(schema.title ?? "").toLowerCase());
}

function isSimple(schema: JsonObject | undefined, root: JsonObject): boolean {
  return !!schema && ["text", "number", "choice"].includes(fieldOf(schema, root).kind);
}

const num = (value: Json | undefined) => (typeof value === "number" ? value : undefined);

export function isLongName(name: string): boolean {
  return LONG_NAMES.test(name.toLowerCase());
}

/** What a field holds before anyone has typed: its default, or nothing. */
export function initial(schema: JsonObject, root: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const [name, property] of propertiesOf(resolve(schema, root))) {
    const value = resolve(property, root).default;
    if (value !== undefined && value !== null) out[name] = value;
  }
  return out;
}
