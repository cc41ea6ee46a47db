/** Keeps what a model reads within bounds: the beginning and the end, and a notice of what lies between. */
import { endOf, startOf } from "@chimera/acp-schema/text";
import type { ToolContext } from "../tool.js";

/** Characters of one result that reach the model. */
export const MAX_OUTPUT = 30_000;

const HEAD = 10_000;

/** `text` whole when it is short; otherwise cut to at most {@link MAX_OUTPUT}, and kept aside where the caller keeps things. */
export async function capOutput(text: string, context: ToolContext): Promise<string> {
  if (text.length <= MAX_OUTPUT) return text;
  const kept = await context.spill?.(context.callId, text).catch(() => undefined);
  const where = kept === undefined ? "" : `; the full text is in ${kept}, for Read and search`;
  const notice = `\n\n[output truncated: ${text.length} characters, the middle left out${where}]\n\n`;
  return startOf(text, HEAD) + notice + endOf(text, MAX_OUTPUT - HEAD - notice.length);
}
