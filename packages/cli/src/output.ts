/** What commands print: lines for a person, or one JSON document for a program. */
import type { Invocation } from "@chimera/host";

export function printJson({ process }: Invocation, value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

export function printLines({ process }: Invocation, lines: readonly string[]): void {
  process.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** Columns of the terminal; undefined for a pipe, whose reader wants whole lines. */
export function screenWidth({ process }: Invocation): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}
