/**
 * A module of its own around the parser, which is CommonJS: loaded on demand out of a bundle, that has no named exports. One
 * document is parsed in a turn of the event loop, whoever asks: the worst of them take tens of milliseconds.
 */
import { setImmediate } from "node:timers/promises";
import { parse } from "yaml";

/** A longer document is refused: the parser takes milliseconds for a kilobyte of the worst kind. */
const MAX_CHARS = 8192;

let last: Promise<unknown> = Promise.resolve();

/** Rejects with the parser's error, which has the place in `pos`. */
export function parseYaml(text: string): Promise<unknown> {
  const parsed = last.then(async () => {
    await setImmediate();
    if (text.length > MAX_CHARS) throw new Error(`it has more than ${MAX_CHARS} characters`);
    return parse(text, { maxAliasCount: 0, prettyErrors: false }) as unknown;
  });
  last = parsed.catch(() => {});
  return parsed;
}
