// What is shown before the first message: who the agent is, and some things to try.
import { useShared } from "../shared";

export function Welcome({ onPick }: { onPick(prompt: string): void }) {
  const { info } = useShared();
  if (!info) return null;
  return (
    <div class="column welcome">
      <img src="/icon.svg" alt="" width="48" height="48" />
      <h2>{info.agent.name}</h2>
      {info.agent.description && <p>{info.agent.description}</p>}
      {info.notice && <p class="notice">{info.notice}</p>}
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
