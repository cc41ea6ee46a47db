/** The records of a session over HTTP, by cursor: every one once and in order, across lost connections. */
import { setTimeout as delay } from "node:timers/promises";
import type { SessionRecord } from "@chimera/acp-schema/events";
import type { Loss } from "@chimera/acp-schema/http";
import { createParser } from "eventsource-parser";
import { CliError, isCliError } from "../errors.js";
import type { FollowOptions } from "./client.js";
import type { Server } from "./server.js";

/** The server says something at least every 15 s; after this silence the connection is dead. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5000;

export async function followSession(server: Server, id: string, options: FollowOptions): Promise<void> {
  const { signal, onNotice, patienceMs = Number.POSITIVE_INFINITY } = options;
  let cursor = options.from;
  let failures = 0;
  let lostAt = 0;
  const onOpen = () => {
    if (failures > 0) onNotice("connected again");
    failures = 0;
  };
  const onRecord = (record: SessionRecord) => {
    if (record.seq <= cursor) return;
    cursor = record.seq;
    options.onRecord(record);
  };
  let told = 0;
  const onLoss = ({ metadata, missing }: Loss) => {
    // A connection that comes back to the same place is told again.
    if (missing.last <= told) return;
    told = missing.last;
    onNotice(metadata.text);
  };
  while (!signal.aborted) {
    try {
      const before = cursor;
      await readStream(server, { id, cursor, signal, onOpen, onRecord, onLoss });
      // The server ends a stream when nothing runs any more; the next one, at the head of the log, waits for what comes.
      if (cursor === before) await pause(FIRST_WAIT_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!isPassing(error)) throw error;
      if (failures === 0) lostAt = performance.now();
      if (performance.now() - lostAt > patienceMs) throw error;
      if (failures++ === 0) onNotice(`connection lost (${(error as Error).message}); trying again`);
      await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 8)), signal);
    }
  }
}

// --- internal ---

interface Connection {
  readonly id: string;
  readonly cursor: number;
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
  readonly onRecord: (record: SessionRecord) => void;
  readonly onLoss: (loss: Loss) => void;
}

async function readStream(server: Server, connection: Connection): Promise<void> {
  const { id, cursor, signal, onOpen, onRecord, onLoss } = connection;
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error("the server fell silent")), SILENCE_MS);
  const parser = createParser({
    onEvent: ({ data }) => {
      const found = parseData(data);
      if (found && "seq" in found) onRecord(found);
      else if (found) onLoss(found);
    },
  });
  const decoder = new TextDecoder();
  try {
    const path = `/sessions/${encodeURIComponent(id)}/events`;
    const body = await server.stream(path, cursor, AbortSignal.any([signal, silence.signal]));
    onOpen();
    for await (const chunk of body) {
      timer.refresh();
      parser.feed(decoder.decode(chunk, { stream: true }));
      // A body that is aborted while its last chunk is read never says so.
      if (signal.aborted) return;
    }
  } catch (error) {
    if (isCliError(error) || signal.aborted) throw error;
    throw new CliError(
      "unreachable",
      (silence.signal.reason as Error | undefined)?.message ?? (error as Error).message,
      {
        cause: error,
      },
    );
  } finally {
    clearTimeout(timer);
  }
}

/** A record, or what stands in the place of lost ones. All else, such as the mark at the end of a stream, is passed over. */
function parseData(data: string): SessionRecord | Loss | null {
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value !== "object" || value === null) return null;
    const { seq, type, metadata, missing } = value as Record<string, unknown>;
    if (typeof type !== "string" || typeof metadata !== "object" || !metadata) return null;
    if (Number.isSafeInteger(seq)) return value as SessionRecord;
    return Number.isSafeInteger((missing as Partial<Loss["missing"]> | undefined)?.last) ? (value as Loss) : null;
  } catch {
    return null;
  }
}

/** Waiting helps against a lost connection, not against a missing session or a refused token. */
function isPassing(error: unknown): boolean {
  return isCliError(error) && error.code === "unreachable";
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {});
}
