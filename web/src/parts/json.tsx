// Values for people: an object as rows of name and value, everything else as JSON.
import { useState } from "preact/hooks";
import { Exact, isObject, parse, stringify } from "../exact";
import type { Json, JsonObject } from "../types";
import { count } from "../words";
import { LongText } from "./long";

/** More rows than these are shown on demand: the last ones stand beside the buttons. */
const FIRST = 40;
const LAST = 10;
/** A longer name stands above its value. */
const LONG_NAME = 28;

export function Facts({ value }: { value: JsonObject }) {
  const [all, setAll] = useState(false);
  const rows = Object.entries(value);
  if (!rows.length) return <p class="quiet">No arguments.</p>;
  const hidden = all ? 0 : Math.max(0, rows.length - FIRST - LAST);
  return (
    <>
      <Rows rows={hidden ? rows.slice(0, FIRST) : rows} />
      {hidden > 0 && (
        <>
          <button type="button" class="small between" onClick={() => setAll(true)}>Show the {count(hidden, "value")} between</button>
          <Rows rows={rows.slice(-LAST)} />
        </>
      )}
    </>
  );
}

function Rows({ rows }: { rows: [string, Json][] }) {
  return (
    <dl class="facts">
      {rows.map(([name, item]) => (
        <div key={name} class={name.length > LONG_NAME ? "stacked" : ""}>
          <dt><LongText text={name} size="name" /></dt>
          <dd><Value value={item} /></dd>
        </div>
      ))}
    </dl>
  );
}

export function Value({ value }: { value: Json }) {
  if (typeof value === "string") return value ? <LongText text={value} /> : <span class="quiet">empty</span>;
  if (value instanceof Exact) return <LongText text={value.text} code />;
  if (value !== null && typeof value === "object") return <LongText text={stringify(value, true)} block />;
  return <code>{String(value)}</code>;
}

/** A call's arguments, which are JSON text that may still be growing. */
export function Arguments({ json }: { json: string }) {
  try {
    const value = parse(json);
    if (isObject(value)) return <Facts value={value} />;
  } catch {
    // Still being written.
  }
  return <pre tabIndex={0}>{json}</pre>;
}
