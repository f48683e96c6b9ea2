// Copies a text and says so.
import { useState } from "preact/hooks";
import { Icon } from "./icon";

export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="plain small" onClick={() => void copy()}>
      <Icon name={done ? "check" : "copy"} /> <span aria-live="polite">{done ? "Copied" : label}</span>
    </button>
  );
}
