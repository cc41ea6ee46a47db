/** `--full-auto` and `--yolo`: names for a sandbox mode and an approval preset together. */
import type { ExtensionContext, Flags } from "@chimera/host";

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
export function chosen({ flags, values }: ExtensionContext, name: keyof Pair): string {
  if (flags["yolo"]) return YOLO[name];
  if (flags["full-auto"] && flags[name] === undefined) return FULL_AUTO[name];
  return String(values[name]);
}
