/** The directories that a person trusts, by real path, in one small file of the home. See docs/decisions/0056 for what trust means. */
import { readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { orElse, parseJson } from "@chimera/acp-schema/lenient";
import { replaceFileSync } from "@chimera/event-store/claim";
import { makeDirectory, unwritable } from "./paths.js";

export type Trust = ReturnType<typeof createTrust>;

/** Tells a person how to trust a directory, for every message that says that something was left out. */
export const HOW_TO_TRUST = "To use it, enter /trust, or start with --trust";

export function createTrust(file: string, home: string) {
  return {
    /** Whether the files of this directory may choose a model and start programs. The home directory's own files always may. */
    isTrusted(cwd: string) {
      const path = real(cwd);
      return read(file)[path] === true || path === real(home);
    },
    /** Whether the person has answered for the directory before, with yes or no. */
    isAnswered: (cwd: string) => read(file)[real(cwd)] !== undefined,
    /** The real paths of the trusted directories. */
    list() {
      const answers = read(file);
      return Object.keys(answers).filter((path) => answers[path] === true);
    },
    /** Stores an answer, which applies until the next one. */
    answer(cwd: string, trusted: boolean) {
      const directories = { ...read(file), [real(cwd)]: trusted };
      try {
        makeDirectory(dirname(file));
        replaceFileSync(file, `${JSON.stringify({ version: VERSION, directories }, null, 2)}\n`);
      } catch (error) {
        throw unwritable(file, error);
      }
    },
  };
}

// --- internal ---

const VERSION = 1;
const MAX_BYTES = 4 * 1024 * 1024;

type Answers = Readonly<Record<string, boolean>>;

/** The stored answers; none from a file that other users can write, or that is not valid. */
function read(file: string): Answers {
  const found = statSync(file, { throwIfNoEntry: false });
  if (!found?.isFile()) return {};
  if (process.platform !== "win32" && (found.mode & 0o022) !== 0) return {};
  const text = found.size > MAX_BYTES ? "" : orElse(() => readFileSync(file, "utf8"), "");
  const { version, directories } = Object(parseJson(text));
  return version === VERSION ? Object.assign(Object.create(null), directories) : {};
}

function real(path: string): string {
  return orElse(() => realpathSync.native(path), null) ?? resolve(path);
}
