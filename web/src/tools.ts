// The agent's tools, read once and shared by the views that show or need them.
import { useEffect, useState } from "preact/hooks";
import { api } from "./api";
import type { JsonObject, ToolInfo } from "./types";

let known: Promise<ToolInfo[]> | null = null;

/** A tool's schema: undefined while it is not known, empty when there is none. */
export function useSchema(name: string): JsonObject | undefined {
  const [schema, setSchema] = useState<JsonObject | undefined>();
  useEffect(() => {
    known ??= api.tools();
    known.then((tools) => setSchema(tools.find((tool) => tool.name === name)?.parameters ?? {}))
      .catch(() => { known = null; setSchema({}); });
  }, [name]);
  return schema;
}

export function useTools(): ToolInfo[] {
  const [tools, setTools] = useState<ToolInfo[]>([]);
  useEffect(() => {
    known ??= api.tools();
    known.then(setTools).catch(() => { known = null; });
  }, []);
  return tools;
}
