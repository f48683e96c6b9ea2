// Where the person writes: Enter sends, Shift and Enter makes a new line.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "../api";
import { messageTo, useDraft } from "../drafts";
import { Icon } from "./icon";

interface Props {
  running: boolean;
  /** The session that is written to; empty for one that is to begin. */
  to: string;
  onSend(text: string): Promise<void>;
  onStop(): Promise<void>;
}

export function Composer({ running, to, onSend, onStop }: Props) {
  const [text, setText] = useDraft(messageTo(to), "");
  const [problem, setProblem] = useState("");
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => { if (matchMedia("(hover: hover)").matches) box.current?.focus(); }, []);
  useLayoutEffect(() => {
    const area = box.current!;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, 240)}px`;
  }, [text]);
  const send = async () => {
    const wanted = text.trim();
    if (!wanted) return;
    setProblem("");
    setText("");
    try {
      await onSend(wanted);
    } catch (error) {
      setText(wanted);
      setProblem(error instanceof Refusal ? error.message : String(error));
    }
  };
  return (
    <form class="composer" onSubmit={(e) => { e.preventDefault(); void send(); }}>
      {problem && <p class="bad-text" role="alert">{problem}</p>}
      <div class="composer-box">
        <label class="hidden" for="message">Message</label>
        <textarea id="message" ref={box} rows={1} value={text}
          placeholder={running ? "Add something while it runs…" : "Ask for something…"}
          onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === "Enter" && !e.shiftKey && !e.isComposing) { e.preventDefault(); void send(); }
          }} />
        {running && (
          <button type="button" class="stop" onClick={() => void onStop()}><Icon name="stop" /> Stop</button>
        )}
        <button type="submit" class="primary round" disabled={!text.trim()}><Icon name="send" /><span class="hidden">Send</span></button>
      </div>
    </form>
  );
}
