/** What commands that go on after their call have put out, as far as a person looks at it. */
import type { Metadata } from "@chimera/acp-schema/events";
import { endOf, startOf } from "@chimera/acp-schema/text";
import { plain, plainLine } from "../terminal/text.js";

/** Of what a command puts out, the end is kept. */
export const TAIL_CHARACTERS = 16 * 1024;
const LONGEST_COMMAND = 40;

export function createJobOutputs() {
  const outputs = new Map<string, string>();
  return {
    add: (id: string, chunk: string): void =>
      void outputs.set(id, endOf((outputs.get(id) ?? "") + chunk, TAIL_CHARACTERS)),
    /** Gives the end of its output, and forgets it. */
    end(id: string): string {
      const output = outputs.get(id) ?? "";
      outputs.delete(id);
      return output;
    },
    /** A line for each that runs, with the last line that it wrote. */
    lines: (running: Iterable<Metadata<"job_started">>): string[] =>
      [...running].map(({ job_id, command }) => {
        const last = plainLine(
          plain(outputs.get(job_id) ?? "")
            .trimEnd()
            .split("\n")
            .at(-1) ?? "",
        );
        return `  ${job_id} runs: ${startOf(plainLine(command), LONGEST_COMMAND)}${last === "" ? "" : ` · ${last}`}`;
      }),
  };
}
