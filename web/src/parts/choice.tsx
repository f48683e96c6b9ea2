// One or several of the options that a call offers.
import { useId, useState } from "preact/hooks";
import { useDraft } from "../drafts";
import { isObject, same, stringify } from "../exact";
import type { Answer, Json, Pending } from "../types";
import { count } from "../words";
import { Icon } from "./icon";
import { LongText } from "./long";

/** The parts of a payload that are shown as options and how to choose from them. */
export const SHOWN_AS_OPTIONS = ["options", "choices", "multiple", "multi_select"];

export interface Option { label: string; detail: string; value: Json }

/** The options of a question, from its payload or its schema; null when it is an open one. */
export function choicesOf(pending: Pending): Option[] | null {
  if (pending.kind === "confirmation" || pending.kind === "credential") return null;
  const payload = pending.payload as { options?: Json[]; choices?: Json[] } | undefined;
  const items = pending.schema?.items as { enum?: Json[] } | undefined;
  const found = payload?.options ?? payload?.choices ?? pending.schema?.enum ?? items?.enum;
  return Array.isArray(found) && found.length ? found.map(optionOf) : null;
}

function optionOf(option: Json): Option {
  if (isObject(option)) {
    const label = String(option.label ?? option.title ?? option.name ?? option.value ?? stringify(option));
    const value = option.value ?? label;
    const details = [option.description ?? option.detail ?? "", same(value, label) ? "" : stringify(value)];
    return { label, detail: details.filter(Boolean).join(" · "), value };
  }
  return { label: String(option), detail: "", value: option };
}

function takesSeveral(pending: Pending): boolean {
  const payload = pending.payload as { multiple?: boolean; multi_select?: boolean } | undefined;
  return pending.schema?.type === "array" || !!payload?.multiple || !!payload?.multi_select;
}

/** More options than these are shown on demand. */
const MANY = 100;

interface Props { at: string; pending: Pending; options: Option[]; send(answer: Answer): Promise<void> }

export function ChoiceAnswer({ at, pending, options, send }: Props) {
  const several = takesSeveral(pending);
  const group = useId();
  const [chosen, setChosen] = useDraft<number[]>(`${at}/chosen`, []);
  const choose = (index: number) => {
    if (!several) setChosen([index]);
    else setChosen(chosen.includes(index) ? chosen.filter((i) => i !== index) : [...chosen, index].sort());
  };
  const [all, setAll] = useState(options.length <= MANY);
  const shown = all ? options : options.slice(0, MANY);
  const values = chosen.map((index) => options[index]!.value);
  return (
    <form onSubmit={(e) => { e.preventDefault(); void send({ kind: "value", value: several ? values : values[0] ?? null }); }}>
      <div class="options">
        {shown.map((option, index) => (
          <label class="option">
            <input type={several ? "checkbox" : "radio"} name={group} required={!several}
              checked={chosen.includes(index)} onChange={() => choose(index)} />
            <span><strong><LongText text={option.label} size="option" /></strong>{option.detail && <small><LongText text={option.detail} size="option" /></small>}</span>
          </label>
        ))}
        {shown.length < options.length && (
          <button type="button" class="small" onClick={() => setAll(true)}>Show all {count(options.length, "option")}</button>
        )}
      </div>
      <div class="buttons">
        <button type="submit" class="primary"><Icon name="check" /> Choose</button>
        <button type="button" onClick={() => void send({ kind: "reject", reason: "Declined in the workbench." })}>Decline</button>
      </div>
    </form>
  );
}
