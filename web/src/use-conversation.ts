// A live conversation: follows the server and redraws once per frame at most.
import { useEffect, useRef, useState } from "preact/hooks";
import { Conversation } from "./conversation";
import { follow } from "./follow";
import type { AgentEvent, Place } from "./types";

export interface Followed {
  conversation: Conversation;
  /** The stored events, for those who look at them one by one. */
  events: AgentEvent[];
  connected: boolean;
}

export function useConversation(place: Place, id: string | undefined): Followed {
  const [, draw] = useState(0);
  const held = useRef<Followed & { of: string }>({ of: "", conversation: new Conversation(), events: [], connected: false });
  const key = `${place}/${id}`;
  // A new address is drawn empty at once, not with the old conversation.
  if (held.current.of !== key) held.current = { of: key, conversation: new Conversation(), events: [], connected: false };
  useEffect(() => {
    if (!id) return;
    const here = held.current;
    return follow(place, id, {
      arrived(batch) {
        here.conversation.applyAll(batch);
        for (const { event } of batch) if (event.seq) here.events.push(event);
        draw((n) => n + 1);
      },
      connected() {
        here.connected = true;
        here.conversation.forgetDrafts();
        draw((n) => n + 1);
      },
      reset() {
        here.conversation = new Conversation();
        here.events = [];
        draw((n) => n + 1);
      },
      lost() {
        here.connected = false;
        draw((n) => n + 1);
      },
    });
  }, [key]);
  return held.current;
}
