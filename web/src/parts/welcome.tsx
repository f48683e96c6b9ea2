// What is shown before the first message: who the agent is, and some things to try.
import { api } from "../api";
import { loadInfo, useShared } from "../shared";
import type { Info } from "../types";

export function Welcome({ onPick }: { onPick(prompt: string): void }) {
  const { info } = useShared();
  if (!info) return null;
  return (
    <div class="column welcome">
      <img src="icon.svg" alt="" width="48" height="48" />
      <h2>{info.agent.name}</h2>
      {info.agent.description && <p>{info.agent.description}</p>}
      {info.models.length > 1 && <ModelChoice models={info.models} />}
      {info.notice && <p class="notice" role="status">{info.notice}</p>}
      {info.suggestions.length > 0 && (
        <ul class="suggestions">
          {info.suggestions.map((suggestion) => (
            <li key={suggestion.title}>
              <button type="button" onClick={() => onPick(suggestion.prompt)}>
                <strong>{suggestion.title}</strong>
                <span>{suggestion.detail || suggestion.prompt}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function ModelChoice({ models }: { models: Info["models"] }) {
  const choose = async (title: string) => {
    await api.chooseModel(title).finally(loadInfo);
  };
  return (
    <div class="field model-choice">
      <label for="model">Model</label>
      <select id="model" onChange={(e) => void choose(e.currentTarget.value)}>
        {models.map((model) => <option key={model.title} value={model.title} selected={model.chosen}>{model.title}</option>)}
      </select>
    </div>
  );
}
