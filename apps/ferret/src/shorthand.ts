/** `--full-auto` and `--yolo`: names for a sandbox mode and an approval preset together. */
import type { ExtensionContext, Flags } from "@chimera/host";

type Choice = Pick<ExtensionContext, "flags" | "values">;

interface Pair {
  readonly sandbox: string;
  readonly approval: string;
}

const FULL_AUTO: Pair = { sandbox: "workspace-write", approval: "auto" };
const YOLO: Pair = { sandbox: "off", approval: "full" };

export const shorthandFlags: Flags = {
  "full-auto": { type: "boolean", help: "The same as --sandbox workspace-write --approval auto" },
  yolo: { type: "boolean", help: "DANGEROUS: the same as --sandbox off --approval full" },
};

/** `--yolo` beats everything; `--full-auto` beats all but a flag that names the setting itself. */
export function chosen({ flags, values }: Choice, name: keyof Pair): string {
  return shorthand(flags, name) ?? String(values[name]);
}

/** What a shorthand says about a setting, if one was typed and counts. */
export function shorthand(flags: Choice["flags"], name: keyof Pair): string | undefined {
  if (flags["yolo"]) return YOLO[name];
  return flags["full-auto"] && flags[name] === undefined ? FULL_AUTO[name] : undefined;
}
