// What cannot be drawn says so in its own place; the rest of the page stays.
import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary } from "preact/hooks";

interface Props {
  name: string;
  /** What is drawn. When it has changed, as a message that was still being written, it is tried again. */
  value: unknown;
  /** What can be done without seeing it. */
  instead?: ComponentChildren;
  children: ComponentChildren;
}

export function Boundary({ name, value, instead, children }: Props) {
  const [error, retry] = useErrorBoundary();
  useEffect(() => { if (error) retry(); }, [value]);
  if (!error) return <>{children}</>;
  return (
    <>
      <p class="note" role="alert">This {name} cannot be shown: {String(error)}</p>
      {instead}
    </>
  );
}
