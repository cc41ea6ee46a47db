/** Lists all differences between our schemas and the official one. */

import type * as v from "valibot";
import type { Methods } from "../src/index.js";
import { differences } from "./model/model.js";
import { isEnvelope, type Official, officialMethods, officialModel } from "./model/official.js";
import { ourModel } from "./model/ours.js";

export interface Ours {
  /** The schemas by the names of their definitions. */
  schemas: Record<string, v.GenericSchema>;
  methods: Methods[];
}

export function findDrift(official: Official, ours: Ours): string[] {
  const names = Object.keys(official.$defs).filter((name) => !isEnvelope(name));
  const absent = names.filter((name) => !ours.schemas[name]).map((name) => `${name}: missing`);
  const extra = Object.keys(ours.schemas)
    .filter((name) => !official.$defs[name])
    .map((name) => `${name}: not in the official schema`);
  const shapes = names.flatMap((name) => {
    const schema = ours.schemas[name];
    return schema ? differences(officialModel(official, name), ourModel(schema), name) : [];
  });
  return [...absent, ...extra, ...shapes, ...methodDrift(official, ours)];
}

/** The schemas among a module's exports. */
export function schemasOf(exports: Record<string, unknown>): Record<string, v.GenericSchema> {
  const isSchema = (value: unknown) => (value as { kind?: string } | null)?.kind === "schema";
  return Object.fromEntries(Object.entries(exports).filter(([, value]) => isSchema(value))) as Record<
    string,
    v.GenericSchema
  >;
}

// --- internal ---

function methodDrift(official: Official, { schemas, methods }: Ours): string[] {
  const theirs = officialMethods(official);
  const mine = new Map<string, v.GenericSchema | null>();
  for (const row of methods.flatMap((table) => Object.values(table))) {
    const name = `${row.side} ${row.method}`;
    mine.set(`${name} ${row.kind}`, row.params);
    if (row.kind === "request") mine.set(`${name} response`, row.result);
  }
  const wrong = [...theirs].flatMap(([key, definition]) => {
    if (key === "proxy proxy/successor notification") return [];
    if (!mine.has(key)) return [`method ${key}: missing`];
    return mine.get(key) === schemas[definition] ? [] : [`method ${key}: is not ${definition}`];
  });
  const extra = [...mine.keys()].filter((key) => !theirs.has(key)).map((key) => `method ${key}: not official`);
  return [...wrong, ...extra];
}
