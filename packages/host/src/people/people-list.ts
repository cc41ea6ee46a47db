/** The list of people who may call a server: names, roles and digests of tokens, in a file of mode 0600 or in the database that nodes share. */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Person, ROLES } from "@chimera/session";
import type { Nodes } from "@chimera/store-postgres";
import { UsageError } from "../command/usage-error.js";

export interface PersonRow extends Person {
  /** The digest of the token, in hexadecimal. The token itself is not stored. */
  readonly sha256: string;
  readonly created: string;
}

/** The file or database that holds the list. */
export type ListPlace = Nodes["people"];

/** Throws a UsageError for a list that this version cannot read. */
export function parsePeople(text: string | null): PersonRow[] {
  if (text === null) return [];
  try {
    const { v, people } = JSON.parse(text) as { v: unknown; people: unknown };
    if (v === VERSION && Array.isArray(people) && people.every(isRow)) return people;
  } catch {
    // Reported below.
  }
  throw new UsageError(`the list of people is not one that this version can read (version ${VERSION})`);
}

/** Adds a person and returns their token, which is not stored. Throws a UsageError when they have one already. */
export async function addPerson(place: ListPlace, { name, role }: Person): Promise<string> {
  const token = randomBytes(32).toString("base64url");
  const sha256 = createHash("sha256").update(token).digest("hex");
  await place.change((text) => {
    const people = parsePeople(text);
    if (people.some((one) => one.name === name)) {
      throw new UsageError(`${name} has a token: revoke it to make a new one`);
    }
    return format([...people, { name, role, sha256, created: new Date().toISOString() }]);
  });
  return token;
}

/** Removes a person. Throws a UsageError when nobody has the name. */
export async function removePerson(place: ListPlace, name: string): Promise<void> {
  await place.change((text) => {
    const people = parsePeople(text);
    const left = people.filter((one) => one.name !== name);
    if (left.length === people.length) throw new UsageError(`nobody is called ${name}`);
    return format(left);
  });
}

/** True for a name that is safe in a log and in a header. */
export function isPersonName(name: string): boolean {
  return /^[\w][\w.@+-]{0,127}$/.test(name);
}

export function fileList(path: string): ListPlace {
  const read = () =>
    readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
  return {
    read,
    async change(make) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const draft = `${path}.draft`;
      // The draft is the lock: only one process at a time can make it.
      const file = await lock(draft);
      try {
        await file.writeFile(make(await read()));
        await file.sync();
        await rename(draft, path);
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      } finally {
        await file.close();
      }
    },
    onChange(changed) {
      let last = NO_FILE;
      const look = async () => {
        const { ino, size, mtimeMs } = await stat(path).catch(() => ({ ino: 0, size: 0, mtimeMs: 0 }));
        const now = `${ino} ${size} ${mtimeMs}`;
        // Also after the first look, because the list may have changed since it was read.
        if (last !== now) await changed();
        last = now;
      };
      // After a failure `last` is unchanged, so the next look tries again.
      const again = () => void look().catch(() => {});
      again();
      setInterval(again, LOOK_MS).unref();
    },
  };
}

// --- internal ---

const VERSION = 1;
const LOOK_MS = 400;
const NO_FILE = "0 0 0";
/** A change takes a moment. After this many attempts, the draft must have been left by a process that died. */
const ATTEMPTS = 50;
const AGAIN_MS = 40;

async function lock(draft: string) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open(draft, "wx", 0o600);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      if (attempt === ATTEMPTS) await rm(draft, { force: true });
      if (attempt > ATTEMPTS) throw error;
      await pause(AGAIN_MS);
    }
  }
}

function format(people: readonly PersonRow[]): string {
  return `${JSON.stringify({ v: VERSION, people }, null, 2)}\n`;
}

function isRow(row: unknown): row is PersonRow {
  const { name, role, sha256, created } = (row ?? {}) as Record<string, unknown>;
  return (
    typeof name === "string" &&
    isPersonName(name) &&
    ROLES.some((one) => one === role) &&
    /^[0-9a-f]{64}$/.test(String(sha256)) &&
    typeof created === "string"
  );
}
