// The agent's tools, read once and shared by the views that show or need them.
import { useEffect, useState } from "preact/hooks";
import { api } from "./api";
import type { ToolInfo } from "./types";

let known: Promise<ToolInfo[]> | null = null;

export function useTools(): ToolInfo[] {
  const [tools, setTools] = useState<ToolInfo[]>([]);
  useEffect(() => {
    known ??= api.tools();
    known.then(setTools).catch(() => { known = null; });
  }, []);
  return tools;
}
