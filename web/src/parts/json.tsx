// Values for people: an object as rows of name and value, everything else as JSON.
import type { Json, JsonObject } from "../types";
import { LongText } from "./long";

export function Facts({ value }: { value: JsonObject }) {
  const rows = Object.entries(value);
  if (!rows.length) return <p class="quiet">No arguments.</p>;
  return (
    <dl class="facts">
      {rows.map(([name, item]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd><Value value={item} /></dd>
        </div>
      ))}
    </dl>
  );
}

function Value({ value }: { value: Json }) {
  if (typeof value === "string") {
    return value ? <LongText text={value} /> : <span>“”</span>;
  }
  if (value !== null && typeof value === "object") return <LongText text={JSON.stringify(value, null, 2)} block />;
  return <code>{String(value)}</code>;
}

/** A call's arguments, which are JSON text that may still be growing. */
export function Arguments({ json }: { json: string }) {
  try {
    const value = JSON.parse(json) as Json;
    if (value && typeof value === "object" && !Array.isArray(value)) return <Facts value={value} />;
  } catch {
    // Still being written.
  }
  return <pre tabIndex={0}>{json}</pre>;
}
