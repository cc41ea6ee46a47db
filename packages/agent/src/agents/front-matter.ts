/** Markdown with a YAML head between two lines of dashes. */
import { parseYaml } from "@chimera/acp-schema/yaml";
import { isJsonObject } from "../json.js";

export async function parseFrontMatter(text: string): Promise<FrontMatter> {
  const plain = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const end = plain.startsWith("---\n") ? plain.indexOf("\n---", 3) : -1;
  const after = end === -1 ? "" : plain.slice(end + 4);
  if (end === -1 || !/^[ \t]*(?:\n|$)/.test(after)) return { head: {}, body: plain.trim(), problem: null };
  const yaml = plain.slice(4, end + 1);
  try {
    const head = (await parseYaml(yaml)) ?? {};
    if (!isJsonObject(head)) throw new Error("it is not a map");
    return { head, body: after.replace(/^[ \t]*\n/, "").trim(), problem: null };
  } catch (error) {
    return { head: {}, body: plain.trim(), problem: describe(error as Error, yaml) };
  }
}

// --- internal ---

interface FrontMatter {
  readonly head: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** Why the head could not be parsed; the body is then the whole text. */
  readonly problem: string | null;
}

function describe(error: Error & { readonly pos?: readonly [number, number] }, yaml: string): string {
  const [message = ""] = error.message.split("\n", 1);
  if (error.pos === undefined) return message;
  // Add one for the line of dashes above the YAML.
  return `${message} (line ${yaml.slice(0, error.pos[0]).split("\n").length + 1})`;
}
