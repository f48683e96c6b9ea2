// A link to another server: people see which one before they follow it, and it opens apart.
import type { ComponentChildren } from "preact";

/** The host that an address leads to, as the browser will ask for it; empty for anything but the web. */
export function webHost(address: string): string {
  try {
    const { protocol, host, username } = new URL(address);
    return /^https?:$/.test(protocol) && !username ? host : "";
  } catch {
    return "";
  }
}

interface Props { address: string; class?: string; bare?: boolean; children: ComponentChildren }

/** What cannot be opened safely is text, with the address that it named. */
export function LinkOut({ address, class: style, bare = false, children }: Props) {
  const host = webHost(address);
  if (!host) return <span>{children}{!bare && address && <span class="quiet"> ({address})</span>}</span>;
  const named = bare && address.toLowerCase().replace(/^https?:\/\//, "").startsWith(host);
  return (
    <a class={style} href={address} target="_blank" rel="noopener noreferrer">
      {children}{!named && <span class="quiet host"> {host}</span>}
    </a>
  );
}
