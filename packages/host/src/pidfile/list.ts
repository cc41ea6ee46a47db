/** Every recorded server, whether it still runs or not. */
import { readdirSync } from "node:fs";
import { type Owner, ownerOf } from "./owner.js";
import { type PidRecord, pidfilePath, portOf, readRecord, runDirectory } from "./record.js";

export interface ListOptions {
  readonly prefix: string;
  /** Only this port's. */
  readonly port?: number;
  /** @defaultValue `run` in `$CHIMERA_HOME` */
  readonly directory?: string;
}

export interface PidfileEntry extends PidRecord {
  readonly path: string;
  /** False when the process that wrote the file is gone, even if another one has its number now. */
  readonly alive: boolean;
}

/** By port. A missing directory is an empty one. */
export function listPidfiles(options: ListOptions): PidfileEntry[] {
  return listOwned(options).map(({ owner, entry }) => ({ ...entry, alive: owner !== null }));
}

/** With the process behind each, for whoever is going to signal it. */
export function listOwned(
  options: ListOptions,
): { readonly entry: Omit<PidfileEntry, "alive">; readonly owner: Owner }[] {
  const directory = runDirectory(options.directory);
  const { prefix } = options;
  return namesIn(directory)
    .flatMap((name) => portOf(name, prefix) ?? [])
    .filter((port) => options.port === undefined || port === options.port)
    .sort((a, b) => a - b)
    .flatMap((port) => {
      const place = { directory, prefix, port };
      const record = readRecord(place);
      return record === null ? [] : [{ entry: { ...record, path: pidfilePath(place) }, owner: ownerOf(place, record) }];
    });
}

// --- internal ---

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
