// How a call went: a command that ended badly is no success, though the call itself was carried out.
import type { ToolResult } from "./types";

export type Outcome = ToolResult["status"] | "failed";

/** As the tool says it, never as its content looks: a match that "ended" 2:1 is no failure. */
export const outcomeOf = (result: ToolResult): Outcome =>
  result.failed ? "failed" : result.status;
