/** What commands print: lines for a person, or one JSON document for a program. */
import type { Invocation } from "@chimera/host";
import { isSet } from "./flags.js";
import { createStyle, type Style, wantsColor } from "./terminal/style.js";

export function printJson({ process }: Invocation, value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLines({ process }: Invocation, lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** Colours as the person and the stream want them. */
export function styleFor({ flags, process }: Invocation, stream: NodeJS.WriteStream = process.stdout): Style {
  return createStyle(!isSet(flags, "no-color") && wantsColor(process.env, stream));
}

/** Columns of the terminal; undefined for a pipe, whose reader wants whole lines. */
export function screenWidth({ process }: Invocation): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}
