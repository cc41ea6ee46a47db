/** Reads which MCP servers are configured: in the user's file, the project's file, and a file that the person named. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { McpServer } from "@chimera/acp-schema/agent";
import { readTextBeneath } from "../files/project-file.js";
import { isJsonObject } from "../json.js";

/** A configured server. The time limit applies to connecting and to each call. */
export type ConfiguredServer = McpServer & { readonly timeoutMs?: number };

export interface McpConfig {
  readonly servers: readonly ConfiguredServer[];
  /** What was left out and why, as sentences for a person. */
  readonly notices: readonly string[];
}

export interface LoadedMcpConfig extends McpConfig {
  /** Servers of an untrusted project. They are listed here and not started. */
  readonly untrusted: readonly string[];
}

export interface McpConfigOptions {
  readonly home: string;
  readonly cwd: string;
  /** A file that the person named. It wins over the others, and an unreadable one is reported. */
  readonly file?: string | undefined;
  /** Whether the project's servers may be started. If not, they are listed in `untrusted`. @defaultValue false */
  readonly trusted?: boolean;
}

/** The usual files that name servers. */
export function mcpConfigFiles(
  home: string,
  cwd: string,
): { readonly user: string; readonly project: readonly string[] } {
  return {
    user: join(home, ".opencode", "config.json"),
    project: PROJECT_FILES.map((path) => join(cwd, path)),
  };
}

/**
 * A server in a later file replaces one with the same name. A bad entry is reported and leaves the others in force.
 *
 * @example
 * const { servers, untrusted } = await loadMcpConfig({ home: homedir(), cwd });
 */
export async function loadMcpConfig({ home, cwd, file, trusted = false }: McpConfigOptions): Promise<LoadedMcpConfig> {
  const user = await readServers(mcpConfigFiles(home, cwd).user);
  const project = await readProjectServers(cwd);
  const named = file === undefined ? null : await readServers(file, true);
  const notices = [user, project, named].flatMap((config) => config?.notices ?? []);
  const chosen = [user, trusted ? project : null, named].flatMap((config) => config?.servers ?? []);
  return {
    servers: [...new Map(chosen.map((server) => [server.name, server])).values()],
    notices,
    untrusted: trusted ? [] : (project?.servers ?? []).map(({ name }) => `the MCP server ${name} of ${cwd}`),
  };
}

/**
 * The servers in a configuration's text. `source` names the text in notices.
 *
 * @example
 * const { servers } = parseMcpConfig('{"mcpServers":{"files":{"command":"files-mcp"}}}', "mcp.json");
 */
export function parseMcpConfig(text: string, source: string): McpConfig {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (error) {
    return { servers: [], notices: [`${source} is not valid JSON: ${(error as Error).message}`] };
  }
  const servers: ConfiguredServer[] = [];
  const notices: string[] = [];
  for (const [name, entry] of Object.entries(serverMap(document))) {
    if (isJsonObject(entry) && entry["enabled"] === false) continue;
    const server = parseServer(name, entry);
    if (typeof server === "string") notices.push(`${source}: the MCP server ${JSON.stringify(name)} ${server}`);
    else servers.push(server);
  }
  return { servers, notices };
}

// --- internal ---

/** Paths below the project. Only the first file that exists is read. */
const PROJECT_FILES = ["mcp.json", "config.json"].map((name) => join(".opencode", name));

/** Reads carefully, because the project may be hostile: its file may be a pipe, or a link to an endless file. */
async function readProjectServers(cwd: string): Promise<McpConfig | null> {
  for (const path of PROJECT_FILES) {
    const text = await readTextBeneath(cwd, path);
    if (text !== null) return parseMcpConfig(text, join(cwd, path));
  }
  return null;
}

async function readServers(path: string, required = false): Promise<McpConfig | null> {
  try {
    return parseMcpConfig(await readFile(path, "utf8"), path);
  } catch (error) {
    if (!required && (error as NodeJS.ErrnoException).code === "ENOENT") return null;
    return { servers: [], notices: [`${path} cannot be read: ${(error as Error).message}`] };
  }
}

/** The servers below one of three keys, or those entries of the document itself that look like servers. */
function serverMap(document: unknown): Record<string, unknown> {
  if (!isJsonObject(document)) return {};
  for (const key of ["mcp", "mcpServers", "servers"]) if (isJsonObject(document[key])) return document[key];
  const entries = Object.entries(document).filter(
    ([, entry]) => isJsonObject(entry) && ("command" in entry || "url" in entry),
  );
  return Object.fromEntries(entries);
}

function parseServer(name: string, entry: unknown): ConfiguredServer | string {
  if (!isJsonObject(entry)) return "is not an object";
  const timeout = entry["timeout_ms"] ?? entry["timeout"] ?? null;
  if (timeout !== null && !isTimeout(timeout)) return "has a timeout that is not a number of milliseconds above 0";
  const limit = timeout === null ? {} : { timeoutMs: timeout };
  if (entry["url"] !== undefined) {
    const url = httpUrl(entry["url"]);
    if (!url) return "has a url that is not http or https";
    return {
      type: entry["type"] === "sse" ? "sse" : "http",
      name,
      url,
      headers: stringMap(entry["headers"]),
      ...limit,
    };
  }
  const words = commandWords(entry["command"], entry["args"]);
  if (!words) return "has neither a command nor a url";
  const [command, ...args] = words;
  return { type: "stdio", name, command, args, env: stringMap(entry["environment"] ?? entry["env"]), ...limit };
}

function isTimeout(value: unknown): value is number {
  return typeof value === "number" && value > 0 && value <= Number.MAX_SAFE_INTEGER;
}

function commandWords(command: unknown, args: unknown): [string, ...string[]] | null {
  const words = [command, args].flat().filter((word): word is string => typeof word === "string");
  const [first, ...rest] = words;
  return first === undefined || first === "" ? null : [first, ...rest];
}

function httpUrl(value: unknown): string | null {
  if (typeof value !== "string" || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}

function stringMap(value: unknown): Record<string, string> {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}
