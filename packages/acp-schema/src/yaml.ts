/** `@chimera/acp-schema/yaml`: the YAML at the head of a Markdown file that describes a command, an agent or a skill. */
import { setImmediate } from "node:timers/promises";

/** A longer document is refused: the parser takes milliseconds for a kilobyte of the worst kind. */
const MAX_CHARS = 8192;

let last: Promise<unknown> = Promise.resolve();

/** Parses one document per turn of the event loop, since the worst take tens of milliseconds. Errors of the parser have `pos`. */
export function parseYaml(text: string): Promise<unknown> {
  const parsed = last.then(async () => {
    const { parse } = await import("yaml");
    await setImmediate();
    if (text.length > MAX_CHARS) throw new Error(`it has more than ${MAX_CHARS} characters`);
    return parse(text, { maxAliasCount: 0, prettyErrors: false }) as unknown;
  });
  last = parsed.catch(() => {});
  return parsed;
}
