/** Keeps a frame under one MiB, even with every character escaped. Editors cannot handle more; the log has everything. */
import { startOf } from "@chimera/acp-schema/text";

const TEXT_CHARS = 48 * 1024;
const DIFF_CHARS = 128 * 1024;
const ARGS_CHARS = 128 * 1024;

export function cutText(text: string): string {
  return text.length <= TEXT_CHARS ? text : `${startOf(text, TEXT_CHARS)}\n[cut here; the session's log has the rest]`;
}

/** Arguments with their long texts cut, or only a note when that is not enough. */
export function cutArgs(args: Record<string, unknown>): Record<string, unknown> {
  if (JSON.stringify(args).length <= ARGS_CHARS) return args;
  const shorten = (_: string, value: unknown) =>
    typeof value === "string" && value.length > 4096 ? `${startOf(value, 4096)}…` : value;
  const text = JSON.stringify(args, shorten);
  return text.length <= ARGS_CHARS ? JSON.parse(text) : { cut: "too large to show; the session's log has them" };
}

export function isLargeDiff(oldText: string | null, newText: string): boolean {
  return (oldText?.length ?? 0) + newText.length > DIFF_CHARS;
}
