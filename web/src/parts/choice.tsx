// One or several of the options that a call offers.
import { useState } from "preact/hooks";
import type { Answer, Json, Pending } from "../types";
import { Icon } from "./icon";

export interface Option { label: string; detail: string; value: Json }

/** The options of a question, from its payload or its schema; null when it is an open one. */
export function choicesOf(pending: Pending): Option[] | null {
  const payload = pending.payload as { options?: Json[]; choices?: Json[] } | undefined;
  const items = pending.schema?.items as { enum?: Json[] } | undefined;
  const found = payload?.options ?? payload?.choices ?? pending.schema?.enum ?? items?.enum;
  return Array.isArray(found) && found.length ? found.map(optionOf) : null;
}

function optionOf(option: Json): Option {
  if (option && typeof option === "object" && !Array.isArray(option)) {
    const label = String(option.label ?? option.title ?? option.name ?? option.value ?? JSON.stringify(option));
    return { label, detail: String(option.description ?? option.detail ?? ""), value: option.value ?? label };
  }
  return { label: String(option), detail: "", value: option };
}

function takesSeveral(pending: Pending): boolean {
  const payload = pending.payload as { multiple?: boolean; multi_select?: boolean } | undefined;
  return pending.schema?.type === "array" || !!payload?.multiple || !!payload?.multi_select;
}

interface Props { pending: Pending; options: Option[]; send(answer: Answer): Promise<void> }

export function ChoiceAnswer({ pending, options, send }: Props) {
  const several = takesSeveral(pending);
  const [chosen, setChosen] = useState<number[]>([]);
  const choose = (index: number) => {
    if (!several) setChosen([index]);
    else setChosen(chosen.includes(index) ? chosen.filter((i) => i !== index) : [...chosen, index].sort());
  };
  const values = chosen.map((index) => options[index]!.value);
  return (
    <form onSubmit={(e) => { e.preventDefault(); void send({ kind: "value", value: several ? values : values[0] ?? null }); }}>
      <div class="options">
        {options.map((option, index) => (
          <label class="option">
            <input type={several ? "checkbox" : "radio"} name={`choice-${pending.call_id}`} required={!several}
              checked={chosen.includes(index)} onChange={() => choose(index)} />
            <span><strong>{option.label}</strong>{option.detail && <small>{option.detail}</small>}</span>
          </label>
        ))}
      </div>
      <div class="buttons">
        <button type="submit" class="primary"><Icon name="check" /> Choose</button>
        <button type="button" onClick={() => void send({ kind: "reject", reason: "Declined in the workbench." })}>Decline</button>
      </div>
    </form>
  );
}
