// A form made from a JSON Schema and a value; what has no field of its own is edited as JSON.
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { inThree, shortName, SIZES } from "../cut";
import { dropDrafts, useDraft } from "../drafts";
import { isObject, own, parse, readNumber, same, stringify } from "../exact";
import type { Json, JsonObject } from "../types";
import { inWords, visible } from "../visible";
import { count } from "../words";
import { fieldFor, isLongName, linesOf, propertiesOf, readLines, resolve, type Field, type Property } from "./schema";

interface FormProps {
  /** What drafts are kept by; without it they are not. */
  at?: string;
  schema: JsonObject;
  value: JsonObject;
  onChange(value: JsonObject): void;
}

/** More fields than these are no form. */
const MAX_FIELDS = 60;
/** A schema may contain itself; deeper objects are JSON. */
const MAX_DEPTH = 4;

export function SchemaForm({ at, schema, value, onChange }: FormProps) {
  const fields = propertiesOf(resolve(schema, schema));
  const names = Object.keys(value).length;
  const [raw, setRaw] = useDraft(below(at, "raw"), names > 0 && fields.length === 0 || names + fields.length > MAX_FIELDS);
  const texts = below(at, "text");
  const flip = () => {
    // What could not be read is not there to be read in another way.
    if (texts) dropDrafts(texts);
    setRaw(!raw);
  };
  return (
    <div class="form">
      <div class="form-mode">
        <button type="button" class="plain small" aria-pressed={raw} onClick={flip}>
          {raw ? "As a form" : "As JSON"}
        </button>
      </div>
      {raw ? (
        <JsonField at={below(texts, "all")} name="Arguments" value={value} object onChange={(v) => onChange(isObject(v) ? v : {})} />
      ) : fields.length + names === 0 ? (
        <p class="quiet">No arguments.</p>
      ) : (
        <Fields at={below(texts, "of")} fields={fields} root={schema} value={value} depth={1} onChange={onChange} />
      )}
    </div>
  );
}

const below = (at: string | undefined, name: string) => at && `${at}/${name}`;

interface FieldsProps {
  at: string | undefined;
  fields: Property[];
  root: JsonObject;
  value: JsonObject;
  depth: number;
  onChange(value: JsonObject): void;
}

function Fields({ at, fields, root, value, depth, onChange }: FieldsProps) {
  // What the schema does not name is shown too: it is part of the call. It stays while it is edited.
  const [others] = useState(() => {
    const named = new Set(fields.map(([name]) => name));
    return Object.keys(value).filter((name) => !named.has(name)).map((name): Property => [name, {}, false]);
  });
  const put = (name: string, item: Json | undefined) => {
    const { [name]: _, ...rest } = value;
    onChange(item === undefined ? rest : { ...value, [name]: item });
  };
  return (
    <>
      {[...fields, ...others].map(([name, schema, required]) => (
        <FieldRow key={name} at={below(at, name)} name={name} schema={schema} root={root} required={required} depth={depth}
          value={own(value, name)} onChange={(item) => put(name, item)} />
      ))}
    </>
  );
}

interface RowProps {
  at: string | undefined;
  name: string;
  schema: JsonObject;
  root: JsonObject;
  required: boolean;
  depth: number;
  value: Json | undefined;
  onChange(value: Json | undefined): void;
}

function FieldRow(props: RowProps) {
  const { at, name, schema, root, required, depth, value, onChange } = props;
  const id = useId();
  // Chosen once: what is typed never changes the field that it is typed into.
  const [field] = useState(() => fieldFor(schema, root, value));
  const { description } = resolve(schema, root);
  const help = typeof description === "string" ? description : "";
  if (field.kind === "object" && depth < MAX_DEPTH) {
    const isThere = required || value !== undefined;
    const fields = field.properties.map(([n, s, r]): Property => [n, s, r && isThere]);
    return (
      <fieldset>
        <legend>{shortName(name)}</legend>
        <Fields at={at} fields={fields} root={root} value={isObject(value) ? value : {}} depth={depth + 1} onChange={onChange} />
      </fieldset>
    );
  }
  if (field.kind === "json" || field.kind === "object") {
    return <JsonField at={at} name={name} help={help} value={value} required={required} onChange={onChange} />;
  }
  return (
    <div class={`field ${field.kind === "boolean" ? "field-check" : ""}`}>
      <label for={id}>
        <span class="field-name">{shortName(name)}</span>
        {required && <span class="required" title="required"> required</span>}
      </label>
      <Control {...props} id={id} field={field} helpId={help ? `${id}-help` : undefined} />
      {help && <p class="help" id={`${id}-help`}>{help}</p>}
    </div>
  );
}

interface ControlProps extends RowProps { id: string; field: Exclude<Field, { kind: "json" | "object" }>; helpId?: string }

function Control({ at, name, schema, root, required, value, onChange, id, field, helpId }: ControlProps) {
  // Nothing, an empty text and null are three values; only the first is missing.
  const common = { id, required: required && value === undefined, "aria-describedby": helpId };
  const unset = resolve(schema, root).default;
  // An empty field says what the call will have in its place.
  const empty = value === null ? "null" : unset === undefined || unset === null ? "" : visible(stringify(unset));
  const lines = field.kind === "list" && Array.isArray(value) ? linesOf(value) : "";
  switch (field.kind) {
    case "boolean":
      return <input {...common} required={false} type="checkbox" checked={value === true}
        onChange={(e) => onChange(e.currentTarget.checked)} />;
    case "choice":
      return (
        <select {...common} onChange={(e) => onChange(e.currentTarget.value === "" ? undefined : parse(e.currentTarget.value))}>
          <option value="" selected={value === undefined}>{required ? "Choose…" : `Not set${empty && ` (${empty})`}`}</option>
          {field.options.map((option) => (
            <option value={stringify(option)} selected={same(option, value)}>{typeof option === "string" ? option : stringify(option)}</option>
          ))}
        </select>
      );
    case "number":
      return <NumberInput at={at} common={{ ...common, placeholder: empty }} value={value} onChange={onChange} />;
    case "list":
      return <textarea {...common} class={breaking(lines)} rows={rowsOf(lines, 3)} placeholder="one per line" value={lines}
        onInput={(e) => onChange(readLines(e.currentTarget.value, field.item, root))} />;
    case "text":
      return <TextInput common={{ ...common, placeholder: empty }} long={field.long || isLongName(name)} value={String(value ?? "")}
        onChange={(text) => onChange(text === "" && !required ? undefined : text)} />;
  }
}

interface InputProps<T> { common: { id: string; required: boolean; placeholder: string }; value: T; onChange(value: T): void }

const LONG_TEXT = 80;

/** A text of several lines, or a long one, is given the room to be seen. */
function TextInput({ common, long, value, onChange }: InputProps<string> & { long: boolean }) {
  const [area] = useState(long || value.length > LONG_TEXT || value.includes("\n"));
  if (!area) return <input {...common} type="text" autocomplete="off" value={value} onInput={(e) => onChange(e.currentTarget.value)} />;
  return (
    <>
      <textarea {...common} class={breaking(value)} rows={rowsOf(value, 4)} value={value} onInput={(e) => onChange(e.currentTarget.value)} />
      <Ending text={value} />
    </>
  );
}

const breaking = (text: string) => (inWords(text).length > 1 ? "unbroken" : "");

const MAX_ROWS = 14;
const LETTERS_IN_A_ROW = 60;

const rowsOf = (text: string, least: number) =>
  Math.min(MAX_ROWS, Math.max(least, text.split("\n", MAX_ROWS).length + Math.floor(text.length / LETTERS_IN_A_ROW)));

/** What does not fit in its box says how much there is and how it ends. */
function Ending({ text }: { text: string }) {
  const [, between, tail] = inThree(text, SIZES.option);
  return between ? <p class="help ending">{count(text.length, "character")}. The last are: {tail}</p> : null;
}

/** No `type="number"`: a browser rounds what it steps, and writes some numbers anew. */
function NumberInput({ at, common, value, onChange }: InputProps<Json | undefined> & { at: string | undefined }) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useUnread(at, () => (value === undefined || value === null ? "" : String(value)), whyNoNumber, input);
  const read = (typed: string) => {
    setText(typed);
    if (!whyNoNumber(typed)) onChange(readNumber(typed.trim()));
  };
  return <input {...common} ref={input} type="text" inputMode="decimal" autocomplete="off" value={text} onInput={(e) => read(e.currentTarget.value)} />;
}

const whyNoNumber = (text: string) =>
  text.trim() === "" || readNumber(text.trim()) !== undefined ? "" : "Write a number, such as 12 or 0.5.";

/** A text of which a value is read; as long as it cannot be, it is kept for itself and stops what is to be sent. */
function useUnread(at: string | undefined, initial: () => string, whyNot: (text: string) => string,
  field: { current: HTMLInputElement | HTMLTextAreaElement | null }): [string, (text: string) => void, string] {
  const [text, setText] = useDraft(at, initial);
  const problem = whyNot(text);
  useLayoutEffect(() => field.current!.setCustomValidity(problem), [problem]);
  return [text, (next) => setText(next, whyNot(next) ? next : null), problem];
}

interface JsonFieldProps {
  at: string | undefined;
  name: string;
  help?: string;
  required?: boolean;
  /** Only an object will do. */
  object?: boolean;
  value: Json | undefined;
  onChange(value: Json | undefined): void;
}

function JsonField({ at, name, help = "", required = false, object = false, value, onChange }: JsonFieldProps) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  // JSON made visible is the same JSON.
  const shown = () => (value === undefined ? "" : visible(stringify(value, true)));
  const [text, setText, problem] = useUnread(at, shown, object ? whyNoObject : whyNoJson, area);
  const read = (typed: string) => {
    setText(typed);
    if (!(object ? whyNoObject : whyNoJson)(typed)) onChange(readJson(typed));
  };
  return (
    <div class="field">
      <label for={id}><span class="field-name">{shortName(name)}</span> <span class="required">JSON</span></label>
      <textarea id={id} ref={area} class={`mono ${breaking(text)}`} rows={rowsOf(text, 2)} required={required && value === undefined} spellcheck={false} value={text} aria-invalid={!!problem}
        aria-describedby={`${id}-help`} onInput={(e) => read(e.currentTarget.value)} />
      <p class={problem ? "help bad-text" : "help"} id={`${id}-help`}>{problem || help}</p>
      <Ending text={text} />
    </div>
  );
}

const readJson = (text: string): Json | undefined => (text.trim() === "" ? undefined : parse(text));

function whyNoJson(text: string): string {
  try {
    readJson(text);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

function whyNoObject(text: string): string {
  const wrong = whyNoJson(text);
  const typed = wrong ? undefined : readJson(text);
  return wrong || (typed === undefined || isObject(typed) ? "" : 'An object is expected here, such as {"name": "value"}.');
}
