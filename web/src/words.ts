// Numbers and times as people read them.
import { isObject, parse, stringify } from "./exact";

export function duration(seconds: number): string {
  if (seconds < 0.001) return "<1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

export function ago(at: number, now = Date.now() / 1000): string {
  const seconds = Math.max(0, now - at);
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.round(seconds)} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(at * 1000).toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

export function clock(at: number): string {
  return new Date(at * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
}

export function money(dollars: number): string {
  return dollars < 0.01 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

/** `{"path": "a.py", "limit": 3}` as `path: a.py, limit: 3`, for one line. */
export function summary(json: string, max = 140): string {
  let text = json;
  try {
    const value = parse(json);
    if (isObject(value)) {
      text = Object.entries(value)
        .map(([key, item]) => `${key}: ${typeof item === "string" ? item : stringify(item)}`)
        .join(", ");
    }
  } catch {
    // Still being written.
  }
  text = text.replace(/\s+/g, " ");
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
