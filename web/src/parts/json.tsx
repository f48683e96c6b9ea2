// Values for people: an object as rows of name and value, everything else as JSON.
import type { Json, JsonObject } from "../types";

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
    return value.includes("\n") ? <pre tabIndex={0}>{value}</pre> : <span>{value || "“”"}</span>;
  }
  if (value !== null && typeof value === "object") return <pre tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>;
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
