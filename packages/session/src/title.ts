/** A session's title: the first line of its first answer, without Markdown's marks, cut at a word. */
import { startOf } from "@chimera/acp-schema/text";

const LENGTH = 60;
/** How much of an answer is looked through for it. */
const LOOKED_AT = 4096;

export function titleFrom(answer: string): string | null {
  const line = startOf(answer, LOOKED_AT)
    .split("\n")
    .map((text) =>
      text
        .replace(/^[#>*\-\s`]+/, "")
        .replace(/[*_`]+/g, "")
        .trim(),
    )
    .find((text) => text.length > 0);
  if (!line) return null;
  if (line.length <= LENGTH) return line;
  const cut = startOf(line, LENGTH);
  const space = cut.lastIndexOf(" ");
  return `${(space > LENGTH / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}
