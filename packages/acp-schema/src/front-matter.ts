/** `@chimera/acp-schema/front-matter`: reads Markdown with a YAML head, which describes a command, an agent or a skill. */
import { setImmediate } from "node:timers/promises";
import { createLanes } from "./promises.js";

export interface FrontMatter {
  readonly head: Readonly<Record<string, unknown>>;
  /** The text after the head, with the line breaks of Windows replaced. */
  readonly body: string;
  /** The reason why the head could not be read; the body is then the whole text. Null if it could. */
  readonly problem: string | null;
}

/**
 * Splits a text into its head, which stands between two lines of dashes, and its body. A text without a head is all body.
 *
 * @example
 * const { head, body } = await parseFrontMatter("---\ndescription: Tests\n---\nRun the tests.");
 */
export async function parseFrontMatter(text: string): Promise<FrontMatter> {
  const plain = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n");
  const [whole, yaml] = HEAD.exec(plain) ?? [];
  if (whole === undefined || yaml === undefined) return { head: {}, body: plain, problem: null };
  try {
    const head = (await parseYaml(yaml)) ?? {};
    if (typeof head !== "object" || Array.isArray(head)) throw new Error("it is not a map");
    return { head: { ...head }, body: plain.slice(whole.length), problem: null };
  } catch (error) {
    return { head: {}, body: plain, problem: describe(error as Error, yaml) };
  }
}

// --- internal ---

const HEAD = /^---[ \t]*\n((?:[\s\S]*?\n)?)---[ \t]*(?:\n|$)/;
/** Longer heads are refused, because the parser can take milliseconds per kilobyte. */
const MAX_CHARS = 8192;

const { inLane } = createLanes();

/** Parses one head per turn of the event loop, since the worst take tens of milliseconds. */
function parseYaml(text: string): Promise<unknown> {
  return inLane("", async () => {
    const { parse } = await import("yaml");
    await setImmediate();
    if (text.length > MAX_CHARS) throw new Error(`it has more than ${MAX_CHARS} characters`);
    return parse(text, { maxAliasCount: 0, prettyErrors: false }) as unknown;
  });
}

function describe(error: Error & { readonly pos?: readonly [number, number] }, yaml: string): string {
  const [message = ""] = error.message.split("\n", 1);
  if (error.pos === undefined) return message;
  // Add one for the line of dashes above the YAML.
  return `${message} (line ${yaml.slice(0, error.pos[0]).split("\n").length + 1})`;
}
