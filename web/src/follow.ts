// Follow a session's or task's events; what arrives between two frames is handed over as one batch.
import { base } from "./api";
import { parseSent } from "./exact";
import type { AgentEvent, Place } from "./types";

export interface Arrived { event: AgentEvent; whole: boolean }
export interface Listener {
  /** Events in order. `whole` replaces what was written so far of a text. */
  arrived(batch: Arrived[]): void;
  /** The connection was made, again or for the first time: unfinished texts will be sent anew. */
  connected(): void;
  /** The server has begun anew: forget everything, all events will be sent again. */
  reset(): void;
  lost(): void;
}

const RETRY_MS = 1000;

export function follow(place: Place, key: string, listener: Listener): () => void {
  let last = "0";
  let source: EventSource;
  let timer = 0;
  let waiting: Arrived[] = [];
  let scheduled = false;

  const flush = () => {
    scheduled = false;
    const batch = waiting;
    waiting = [];
    if (batch.length) listener.arrived(batch);
  };
  const take = (message: MessageEvent<string>, whole: boolean) => {
    const event = parseSent<AgentEvent>(message.data);
    if (message.lastEventId) last = message.lastEventId;
    waiting.push({ event, whole });
    if (!scheduled) {
      scheduled = true;
      // A hidden page gets no animation frames, and must not pile up events either.
      if (document.hidden) setTimeout(flush, 50);
      else requestAnimationFrame(flush);
    }
  };
  const connect = () => {
    source = new EventSource(`${base(place, key)}/stream?since=${encodeURIComponent(last)}`);
    source.onopen = () => { flush(); listener.connected(); };
    source.onmessage = (message) => take(message, false);
    source.addEventListener("draft", (message) => take(message as MessageEvent<string>, true));
    source.addEventListener("reset", () => { flush(); listener.reset(); });
    source.onerror = () => {
      listener.lost();
      // The browser gives up after an error status, as a restarting proxy sends; we do not.
      if (source.readyState === EventSource.CLOSED) timer = window.setTimeout(connect, RETRY_MS);
    };
  };
  connect();
  return () => { clearTimeout(timer); source.close(); };
}
