/** The choices for a new session: the server's engines, agents and models, read once. */
import type { EnginesReply, ModelsReply } from "@chimera/acp-schema/http";
import { signal } from "@preact/signals";
import { client } from "../server/client.js";

export const models = signal<ModelsReply["models"]>([]);
export const engines = signal<EnginesReply["engines"]>([]);
/** Roles by name, the usual one first. */
export const agents = signal<readonly string[]>([]);
/** Where the server works unless a session says otherwise. */
export const directory = signal("");

let reading: Promise<void> | null = null;

export function readChoices(): Promise<void> {
  reading ??= read().catch(() => {
    reading = null;
  });
  return reading;
}

// --- internal ---

async function read(): Promise<void> {
  const [offered, programs, roles, info] = await Promise.all([
    client.call("GET /models", {}),
    client.call("GET /engines", {}),
    client.call("GET /agents", {}),
    client.call("GET /info", {}),
  ]);
  models.value = offered.models;
  engines.value = programs.engines;
  const names = new Set(programs.engines.map(({ name }) => name));
  agents.value = roles.agents.map(({ name }) => name).filter((name) => !names.has(name));
  directory.value = info.cwd;
}
