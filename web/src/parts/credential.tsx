// Signs in for a tool: a link to the provider and the address it sends back, or a secret to enter.
import { useId, useState } from "preact/hooks";
import { isObject } from "../exact";
import type { Answer, JsonObject, Pending } from "../types";
import { Icon } from "./icon";
import { LinkOut, webHost } from "./link";

/** Where a person is sent to. */
export const addressOf = ({ auth_uri, url, sign_in_url }: JsonObject): string | undefined =>
  [auth_uri, url, sign_in_url].find((address): address is string => typeof address === "string");

interface Props { pending: Pending; send(answer: Answer): Promise<void> }

export function CredentialAnswer({ pending, send }: Props) {
  const [value, setValue] = useState("");
  const address = isObject(pending.payload) ? addressOf(pending.payload) : undefined;
  const field = useId();
  return (
    <form onSubmit={(e) => { e.preventDefault(); void send({ kind: "value", value }); }}>
      {address && webHost(address) && (
        <p>
          <LinkOut address={address} class="button"><Icon name="key" /> Sign in</LinkOut>
          {" "}then paste the address you were sent back to.
        </p>
      )}
      <div class="field">
        <label for={field}>{address ? "Address you came back to" : "Key or token"}</label>
        {/* An address that carries a code is a secret too. */}
        <input id={field} type="password" autocomplete="off" required value={value}
          onInput={(e) => setValue(e.currentTarget.value)} />
        <p class="help">Kept by the server for this user; never shown again, and never sent to the model.</p>
      </div>
      <div class="buttons">
        <button type="submit" class="primary"><Icon name="check" /> Save</button>
        <button type="button" onClick={() => void send({ kind: "reject", reason: "Sign-in was declined." })}>Decline</button>
      </div>
    </form>
  );
}
