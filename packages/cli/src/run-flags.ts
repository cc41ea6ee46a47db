/** What the flags of a run mean, for `-p` and for the conversation; a value that makes no sense is a usage error. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type Flags, type Invocation, UsageError } from "@chimera/host";
import { plainLine } from "./terminal/plain.js";

export interface RunFlags {
  readonly prompt?: string;
  readonly files: readonly string[];
  readonly outputFormat: string;
  readonly cwd: string;
  readonly model?: string;
  readonly maxSteps?: number;
  readonly maxCostUsd?: number;
  readonly allowedTools?: readonly string[];
  readonly resume?: string;
  readonly last: boolean;
  readonly title?: string;
  readonly persist: boolean;
}

/** The rows of these flags. */
export const RUN_FLAGS: Flags = {
  print: { type: "string", short: "p", value: "<prompt>", help: "Answer one prompt and exit; - reads it from stdin" },
  file: {
    type: "string",
    short: "f",
    multiple: true,
    value: "<path>",
    help: "Put a file before the prompt; - is stdin",
  },
  "output-format": { type: "string", value: "<format>", help: "With -p: text (default), json or stream-json" },
  resume: { type: "string", value: "<id>", help: "Go on with a session" },
  continue: { type: "boolean", short: "c", help: "Go on with the last session of this directory" },
  model: { type: "string", value: "<name>", help: "Model to use (default: by the keys that are set, else offline)" },
  "max-steps": { type: "string", value: "<n>", help: "Model steps per turn (default 50)" },
  "max-cost": { type: "string", value: "<usd>", help: "Cost at which a session pauses and asks; with -p it stops" },
  "allowed-tools": { type: "string", value: "<a,b>", help: "Only these tools" },
  cwd: { type: "string", value: "<dir>", help: "Where to work (default: the current directory)" },
  title: { type: "string", value: "<title>", help: "Name the session" },
  "no-save": { type: "boolean", help: "Keep nothing on disk" },
  "no-color": { type: "boolean", help: "No colours (also NO_COLOR=1)" },
};

export function readRunFlags({ flags, process }: Invocation): RunFlags {
  const text = (name: string) => flags[name] as string | undefined;
  const present = <K extends string, V>(key: K, value: V | undefined) =>
    (value === undefined ? {} : { [key]: value }) as { [P in K]?: V };
  if (flags["resume"] !== undefined && flags["continue"] === true)
    throw new UsageError("--resume and --continue exclude each other");
  return {
    ...present("prompt", text("print")),
    files: (flags["file"] as readonly string[] | undefined) ?? [],
    outputFormat: text("output-format") ?? "text",
    cwd: directory(resolve(process.cwd(), text("cwd") ?? ".")),
    ...present("model", text("model")),
    ...present("maxSteps", wholeNumber("max-steps", text("max-steps"))),
    ...present("maxCostUsd", amount("max-cost", text("max-cost"))),
    ...present("allowedTools", toolNames(text("allowed-tools"))),
    ...present("resume", text("resume")),
    last: flags["continue"] === true,
    ...present("title", text("title") && plainLine(text("title")!)),
    persist: flags["no-save"] !== true,
  };
}

// --- internal ---

function directory(path: string): string {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new UsageError(`--cwd: ${path} is no directory`);
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} takes a whole number of at least 1, not ${JSON.stringify(text)}`);
}

function amount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Number(text);
  throw new UsageError(`--${name} takes an amount in dollars, not ${JSON.stringify(text)}`);
}

function toolNames(text: string | undefined): string[] | undefined {
  return text
    ?.split(",")
    .map((name) => name.trim())
    .filter(Boolean);
}
