// Shared by the makers of the frozen home: workspaces, scripts for the model, and the names of the sessions they made.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PLACE, WORK } from "./place.js";

/** Session ids by the name of what each shows. */
export type Made = Map<string, string>;

/** A workspace with these files; a session has the name of its own. */
export function workspace(
  name: string,
  files: Record<string, string> = { "README.txt": `This is ${name}.\n` },
): string {
  for (const [path, content] of Object.entries(files)) put(join(WORK, name, path), content);
  return join(WORK, name);
}

/** The name of a model that follows a script, which stays with the home so that its session can go on. */
export function model(name: string, turns: object[], more: object = {}): string {
  const path = join(PLACE, "scripts", `${name}.json`);
  put(path, `${JSON.stringify({ turns, repeat: true, ...more }, null, 1)}\n`);
  return `scripted:${path}`;
}

export function put(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

export const call = (tool: string, args: object) => ({ call: tool, args });
export const write = (path: string, content: string) => call("Write", { path, content });
export const bash = (command: string) => call("Bash", { command });
export const say = (text: string) => ({ text, chunks: Math.min(3, text.length) });
/** A turn that makes these calls in one step, then says what it did. */
export const turn = (...calls: object[]) => ({ steps: [{ reply: calls }, { reply: [say("Done. ")] }] });
