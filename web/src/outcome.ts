// How a call went: a command that ended badly is no success, though the call itself was carried out.
import { isNumber, isObject, parse } from "./exact";
import type { JsonObject, ToolResult } from "./types";

export type Outcome = ToolResult["status"] | "failed";

const MAX_READ = 200_000;

export function outcomeOf(result: ToolResult): Outcome {
  return result.status === "ok" && endedBadly(factsOf(result)) ? "failed" : result.status;
}

/** What the tool says of itself: its data, or else its text when that is an object in JSON. */
function factsOf(result: ToolResult): JsonObject | null {
  if (isObject(result.data)) return result.data;
  const [only, more] = result.content;
  if (more || only?.kind !== "text" || !only.text.startsWith("{") || only.text.length > MAX_READ) return null;
  try {
    const value = parse(only.text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function endedBadly(facts: JsonObject | null): boolean {
  if (!facts) return false;
  const code = facts.exit_code ?? facts.returncode;
  return isNumber(code) && Number(code) !== 0
    || typeof facts.ended === "string" && facts.ended !== "exited"
    || facts.status === "error" || facts.success === false;
}
