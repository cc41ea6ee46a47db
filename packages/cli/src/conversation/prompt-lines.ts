import { startOf } from "@chimera/acp-schema/text";
import { folded } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";
import { plain } from "../terminal/text.js";

/** A prompt as the conversation shows it. */
export function promptLines(text: string, style: Style): string {
  const lines = plain(text).split("\n");
  const shown = folded(lines, 12, (hidden) => style.dim(`… ${hidden} more lines`));
  return shown
    .map((one, at) => (at === 0 ? `${style.bold("> ")}${startOf(one, 2000)}` : `  ${startOf(one, 2000)}`))
    .join("\n");
}
