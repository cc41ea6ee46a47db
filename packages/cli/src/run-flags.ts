/** What the flags of a run mean, for `-p` and for the conversation. The settings among them are host's to read. */
import { type Invocation, UsageError } from "@chimera/host";
import { plainLine } from "./terminal/plain.js";

export interface RunFlags {
  readonly prompt?: string;
  readonly files: readonly string[];
  readonly outputFormat: string;
  /** Only when it was typed: a resumed session otherwise keeps its own. */
  readonly model?: string;
  readonly resume?: string;
  readonly last: boolean;
  readonly title?: string;
}

export function readRunFlags({ flags }: Invocation): RunFlags {
  const text = (name: string) => flags[name] as string | undefined;
  const [prompt, model, resume, title] = ["print", "model", "resume", "title"].map(text);
  if (resume !== undefined && flags["continue"] === true)
    throw new UsageError("--resume and --continue exclude each other");
  return {
    ...(prompt !== undefined && { prompt }),
    files: (flags["file"] as readonly string[] | undefined) ?? [],
    outputFormat: text("output-format") ?? "text",
    ...(model !== undefined && { model }),
    ...(resume !== undefined && { resume }),
    last: flags["continue"] === true,
    ...(title !== undefined && { title: plainLine(title) }),
  };
}
