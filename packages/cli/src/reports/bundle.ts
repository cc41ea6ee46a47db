/** A session as one file, `{events, exported_at, schema, summary}`, written in pieces so that a log of any size fits. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isLost, type SessionEvent } from "@chimera/acp-schema/events";
import { isJsonObject } from "@chimera/acp-schema/lenient";
import type { LogEntry } from "@chimera/event-store";
import { CliError } from "../errors.js";

const BUNDLE_SCHEMA = "chimera.otter.session/1";

export async function* renderBundle(
  summary: object,
  entries: AsyncIterable<LogEntry<SessionEvent>>,
  exportedAt: string,
): AsyncGenerator<string> {
  yield '{\n  "events": [';
  let first = true;
  for await (const entry of entries) {
    if (isLost(entry)) continue;
    yield `${first ? "" : ","}\n    ${pretty(entry.event, 4)}`;
    first = false;
  }
  yield `${first ? "" : "\n  "}],\n  "exported_at": ${JSON.stringify(exportedAt)},\n`;
  yield `  "schema": ${JSON.stringify(BUNDLE_SCHEMA)},\n  "summary": ${pretty(summary, 2)}\n}\n`;
}

/** A session to import: a bundle, or a directory with one file per event. Untrusted. */
export interface Bundle {
  readonly summary: Readonly<Record<string, unknown>>;
  readonly events: readonly unknown[];
}

const MOST_BYTES = 512 * 1024 * 1024;
const EVENT_FILE = /^event-(\d{6,15})(?:-[0-9a-f]{8})?\.json$/;

export async function readBundle(path: string): Promise<Bundle> {
  const found = await stat(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT" || cause.code === "ENOTDIR")
      throw new CliError("not_found", `there is no ${path}`, { cause });
    throw new CliError("failed", `cannot read ${path}: ${cause.message}`, { cause });
  });
  return found.isDirectory() ? readDirectory(path) : parseBundle(path, await readJson(path, found.size));
}

// --- internal ---

function pretty(value: object, indent: number): string {
  return JSON.stringify(sorted(value), null, 2).replaceAll("\n", `\n${" ".repeat(indent)}`);
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]));
}

async function readJson(path: string, size: number): Promise<unknown> {
  if (size > MOST_BYTES) throw new CliError("failed", `${path} is larger than ${MOST_BYTES / 1024 / 1024} MiB`);
  const text = await readFile(path, "utf8").catch((cause: Error) => {
    throw new CliError("failed", `cannot read ${path}: ${cause.message}`, { cause });
  });
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (cause) {
    throw new CliError("failed", `${path} is not JSON: ${(cause as Error).message.split("\n", 1)[0]}`, { cause });
  }
}

function parseBundle(path: string, value: unknown): Bundle {
  if (!isJsonObject(value)) throw new CliError("failed", `${path} is not an exported session: not an object`);
  const { schema, summary, events } = value;
  if (schema !== BUNDLE_SCHEMA)
    throw new CliError("failed", `${path} is not an exported session: its schema is not ${BUNDLE_SCHEMA}`);
  if (!isJsonObject(summary) || !Array.isArray(events))
    throw new CliError("failed", `${path} is not an exported session: it lacks a summary or events`);
  return { summary, events };
}

async function readDirectory(path: string): Promise<Bundle> {
  const names = (await readdir(path)).filter((name) => EVENT_FILE.test(name));
  names.sort((a, b) => Number(EVENT_FILE.exec(a)?.[1]) - Number(EVENT_FILE.exec(b)?.[1]));
  const events: unknown[] = [];
  for (const name of names) events.push(await readJson(join(path, name), 0));
  const summary = await readJson(join(path, "summary.json"), 0);
  if (!isJsonObject(summary))
    throw new CliError("failed", `${path} is not an exported session: its summary is not an object`);
  return { summary, events };
}
