// A form made from a JSON Schema; what has no field of its own is edited as JSON.
import { useId, useState } from "preact/hooks";
import type { Json, JsonObject } from "../types";
import { fieldOf, isLongName, propertiesOf, resolve } from "./schema";

interface FormProps {
  schema: JsonObject;
  value: JsonObject;
  onChange(value: JsonObject): void;
}

export function SchemaForm({ schema, value, onChange }: FormProps) {
  const [raw, setRaw] = useState(false);
  const fields = propertiesOf(resolve(schema, schema));
  return (
    <div class="form">
      <div class="form-mode">
        <button type="button" class="plain small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
          {raw ? "As a form" : "As JSON"}
        </button>
      </div>
      {raw || (fields.length === 0 && Object.keys(value).length > 0) ? (
        <JsonField name="Arguments" value={value} onChange={(v) => onChange((v ?? {}) as JsonObject)} />
      ) : fields.length === 0 ? (
        <p class="quiet">No arguments.</p>
      ) : (
        <Fields fields={fields} root={schema} value={value} onChange={onChange} />
      )}
    </div>
  );
}

interface FieldsProps {
  fields: [string, JsonObject, boolean][];
  root: JsonObject;
  value: JsonObject;
  onChange(value: JsonObject): void;
}

function Fields({ fields, root, value, onChange }: FieldsProps) {
  const put = (name: string, item: Json | undefined) => {
    const { [name]: _, ...rest } = value;
    onChange(item === undefined ? rest : { ...value, [name]: item });
  };
  return (
    <>
      {fields.map(([name, schema, required]) => (
        <FieldRow key={name} name={name} schema={schema} root={root} required={required}
          value={value[name]} onChange={(item) => put(name, item)} />
      ))}
    </>
  );
}

interface RowProps {
  name: string;
  schema: JsonObject;
  root: JsonObject;
  required: boolean;
  value: Json | undefined;
  onChange(value: Json | undefined): void;
}

function FieldRow(props: RowProps) {
  const { name, schema, root, required, value, onChange } = props;
  const id = useId();
  const seen = resolve(schema, root);
  const help = typeof seen.description === "string" ? seen.description : "";
  const field = fieldOf(schema, root);
  if (field.kind === "object") {
    return (
      <fieldset>
        <legend>{name}</legend>
        <Fields fields={field.properties} root={root} value={(value ?? {}) as JsonObject} onChange={onChange} />
      </fieldset>
    );
  }
  if (field.kind === "json") {
    return <JsonField name={name} help={help} value={value} onChange={onChange} />;
  }
  return (
    <div class={`field ${field.kind === "boolean" ? "field-check" : ""}`}>
      <label for={id}>
        <span class="field-name">{name}</span>
        {required && <span class="required" title="required"> required</span>}
      </label>
      <Control {...props} id={id} helpId={help ? `${id}-help` : undefined} />
      {help && <p class="help" id={`${id}-help`}>{help}</p>}
    </div>
  );
}

function Control({ name, schema, root, required, value, onChange, id, helpId }: RowProps & { id: string; helpId?: string }) {
  const field = fieldOf(schema, root);
  const common = { id, required, "aria-describedby": helpId };
  switch (field.kind) {
    case "boolean":
      return <input {...common} required={false} type="checkbox" checked={value === true}
        onChange={(e) => onChange(e.currentTarget.checked)} />;
    case "choice":
      return (
        <select {...common} onChange={(e) => onChange(e.currentTarget.value === "" ? undefined : JSON.parse(e.currentTarget.value))}>
          <option value="" selected={value === undefined}>{required ? "Choose…" : "Not set"}</option>
          {field.options.map((option) => (
            <option value={JSON.stringify(option)} selected={JSON.stringify(option) === JSON.stringify(value)}>{String(option)}</option>
          ))}
        </select>
      );
    case "number":
      return <input {...common} type="number" step={field.whole ? 1 : "any"} min={field.min} max={field.max}
        value={value === undefined ? "" : String(value)}
        onInput={(e) => onChange(e.currentTarget.value === "" ? undefined : Number(e.currentTarget.value))} />;
    case "list":
      return <textarea {...common} rows={3} placeholder="one per line" value={((value as Json[] | undefined) ?? []).join("\n")}
        onInput={(e) => onChange(readLines(e.currentTarget.value, field.item, root))} />;
    default:
      return field.kind === "text" && (field.long || isLongName(name) || String(value ?? "").length > 80)
        ? <textarea {...common} rows={4} value={String(value ?? "")} onInput={(e) => onChange(textOf(e.currentTarget.value, required))} />
        : <input {...common} type="text" autocomplete="off" value={String(value ?? "")} onInput={(e) => onChange(textOf(e.currentTarget.value, required))} />;
  }
}

/** An optional text that is empty was not given. */
const textOf = (text: string, required: boolean) => (text === "" && !required ? undefined : text);

function readLines(text: string, item: JsonObject, root: JsonObject): Json[] | undefined {
  const lines = text.split("\n").filter((line) => line !== "");
  if (!lines.length) return undefined;
  return fieldOf(item, root).kind === "number" ? lines.map(Number) : lines;
}

interface JsonFieldProps { name: string; help?: string; value: Json | undefined; onChange(value: Json | undefined): void }

export function JsonField({ name, help = "", value, onChange }: JsonFieldProps) {
  const id = useId();
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const [problem, setProblem] = useState("");
  const read = (typed: string) => {
    setText(typed);
    try {
      onChange(typed.trim() === "" ? undefined : (JSON.parse(typed) as Json));
      setProblem("");
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <div class="field">
      <label for={id}><span class="field-name">{name}</span> <span class="required">JSON</span></label>
      <textarea id={id} class="mono" rows={6} spellcheck={false} value={text} aria-invalid={!!problem}
        aria-describedby={`${id}-help`} onInput={(e) => read(e.currentTarget.value)} />
      <p class={problem ? "help bad-text" : "help"} id={`${id}-help`}>{problem || help}</p>
    </div>
  );
}
