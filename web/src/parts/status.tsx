// A state in a word, with a colour and a shape that repeat it.
import type { CallState } from "../conversation";
import type { Status } from "../types";
import { Icon, type IconName } from "./icon";

/** "answered": it waits, but for the others. */
type Shown = Status | CallState | "answered";

const LOOKS: Record<Shown, { icon: IconName | "spin"; tone: string; word: string }> = {
  new: { icon: "plus", tone: "quiet", word: "New" },
  queued: { icon: "clock", tone: "quiet", word: "Queued" },
  writing: { icon: "spin", tone: "busy", word: "Being written" },
  running: { icon: "spin", tone: "busy", word: "Running" },
  waiting: { icon: "clock", tone: "wait", word: "Waiting" },
  answered: { icon: "check", tone: "quiet", word: "Answered" },
  ok: { icon: "check", tone: "good", word: "Done" },
  done: { icon: "check", tone: "good", word: "Done" },
  error: { icon: "cross", tone: "bad", word: "Error" },
  failed: { icon: "cross", tone: "bad", word: "Failed" },
  denied: { icon: "ban", tone: "bad", word: "Rejected" },
  stopped: { icon: "stop", tone: "bad", word: "Stopped" },
  cancelled: { icon: "ban", tone: "quiet", word: "Cancelled" },
  interrupted: { icon: "pause", tone: "wait", word: "Interrupted" },
};

export function StatusMark({ status }: { status: Shown }) {
  const { icon, tone, word } = LOOKS[status];
  return (
    <span class={`mark ${tone}`} role="img" aria-label={word} title={word}>
      {icon === "spin" ? <span class="spin" /> : <Icon name={icon} />}
    </span>
  );
}

export function StatusChip({ status }: { status: Shown }) {
  const { tone, word } = LOOKS[status];
  return <span class={`chip ${tone}`}>{word}</span>;
}
