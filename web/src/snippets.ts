// The same call as a program, as an HTTP request and as a command line.
import { isObject, parse, stringify } from "./exact";
import type { Json, JsonObject, ToolInfo } from "./types";

function python(value: Json): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (isObject(value)) return `{${Object.entries(value).map(([k, v]) => `${stringify(k)}: ${python(v)}`).join(", ")}}`;
  return stringify(value);
}

const shell = (text: string) => `'${text.replace(/'/g, `'\\''`)}'`;

const addressOf = (tool: ToolInfo) =>
  new URL(`api/tools/${encodeURIComponent(tool.name)}/call`, document.baseURI).href;

export function asPython(tool: ToolInfo, args: JsonObject, token: boolean): string {
  const secret = `\n    headers={"Authorization": f"Bearer {os.environ['TOOLWRIGHT_TOKEN']}"},`;
  const address = addressOf(tool);
  return `${token ? "import os\n\n" : ""}import httpx2

reply = httpx2.post(
    ${stringify(address)},
    json={"arguments": ${python(args)}},${token ? secret : ""}
)
print(reply.json()["result"])
`;
}

export function asCurl(tool: ToolInfo, args: JsonObject, token: boolean): string {
  const secret = ` -H "Authorization: Bearer $TOOLWRIGHT_TOKEN"`;
  const body = shell(stringify({ arguments: args }));
  return `curl -s ${addressOf(tool)} \\
  -H 'Content-Type: application/json'${token ? secret : ""} -d ${body}`;
}

export function asCli(tool: ToolInfo, args: JsonObject): string {
  const words = Object.entries(args).map(([key, value]) => shell(`${key}=${word(value)}`));
  return ["toolwright tools call", tool.name, ...words].join(" ");
}

/** Text as it is, unless it would be read as JSON. */
function word(value: Json): string {
  if (typeof value !== "string") return stringify(value);
  try {
    parse(value);
    return stringify(value);
  } catch {
    return value;
  }
}
