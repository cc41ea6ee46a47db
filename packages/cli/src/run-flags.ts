/** What the flags of a run mean, for `-p` and for the conversation. The settings among them are host's to read. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type Flags, type Invocation, SESSION_FLAGS, UsageError } from "@chimera/host";
import { plainLine } from "./terminal/plain.js";

export interface RunFlags {
  readonly prompt?: string;
  readonly files: readonly string[];
  readonly outputFormat: string;
  readonly cwd: string;
  /** Only when it was typed: a resumed session otherwise keeps its own. */
  readonly model?: string;
  readonly resume?: string;
  readonly last: boolean;
  readonly title?: string;
}

/** The rows of these flags. */
export const RUN_FLAGS: Flags = {
  print: { type: "string", short: "p", value: "<prompt>", help: "Answer one prompt and exit; - reads it from stdin" },
  file: {
    type: "string",
    short: "f",
    multiple: true,
    value: "<path>",
    help: "Put a file before the prompt; - is stdin (repeatable)",
  },
  "output-format": { type: "string", value: "<format>", help: "With -p: text (default), json or stream-json" },
  resume: { type: "string", value: "<id>", help: "Go on with a session" },
  continue: { type: "boolean", short: "c", help: "Go on with the last session of this directory" },
  title: { type: "string", value: "<title>", help: "Name the session" },
  ...SESSION_FLAGS,
  "no-color": { type: "boolean", help: "No colours (also NO_COLOR=1)" },
};

export function readRunFlags({ flags, process }: Invocation): RunFlags {
  const text = (name: string) => flags[name] as string | undefined;
  const [prompt, model, resume, title] = ["print", "model", "resume", "title"].map(text);
  if (resume !== undefined && flags["continue"] === true)
    throw new UsageError("--resume and --continue exclude each other");
  return {
    ...(prompt !== undefined && { prompt }),
    files: (flags["file"] as readonly string[] | undefined) ?? [],
    outputFormat: text("output-format") ?? "text",
    cwd: directory(resolve(process.cwd(), text("cwd") ?? ".")),
    ...(model !== undefined && { model }),
    ...(resume !== undefined && { resume }),
    last: flags["continue"] === true,
    ...(title !== undefined && { title: plainLine(title) }),
  };
}

// --- internal ---

function directory(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new UsageError(`--cwd: ${path} is no directory`);
}
