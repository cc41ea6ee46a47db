/** A structured log: one JSON object per line, or plain text for a person at a terminal. It never writes to stdout. */
import { orElse } from "@chimera/acp-schema/lenient";

export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type LogFields = Readonly<Record<string, unknown>>;

/** Common field names are `session`, `request` and `error`. The value of a field whose name suggests a secret is redacted. */
export type Log = Readonly<Record<Exclude<LogLevel, "silent">, (message: string, fields?: LogFields) => void>>;

/** Where lines go. */
export interface LogSink {
  readonly pretty: boolean;
  write(line: string): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly sinks: readonly LogSink[];
  /** Values that must not appear in any line, such as tokens. Values shorter than 8 characters are ignored. */
  readonly secrets?: readonly string[];
  /** Fields that every line has besides its own. @defaultValue none */
  readonly common?: LogFields;
  readonly clock?: () => number;
}

export function createLog({ level, sinks, secrets = [], common = {}, clock = Date.now }: LogOptions): Log {
  const threshold = LOG_LEVELS.indexOf(level);
  const hidden = secrets.filter((secret) => secret.length >= 8).flatMap((secret) => [secret, escaped(secret)]);
  const hide = (line: string) => hidden.reduce((text, secret) => text.replaceAll(secret, REDACTED), line);
  const at =
    (name: keyof Log) =>
    (message: string, fields: LogFields = {}) => {
      if (LOG_LEVELS.indexOf(name) < threshold) return;
      const entry = { ts: new Date(clock()).toISOString(), level: name, message, common, fields };
      for (const sink of sinks) sink.write(hide(sink.pretty ? prettyLine(entry) : jsonLine(entry)));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

// --- internal ---

interface LogEntry {
  readonly ts: string;
  readonly level: keyof Log;
  readonly message: string;
  readonly common: LogFields;
  readonly fields: LogFields;
}

const REDACTED = "[redacted]";
const SECRET_FIELD = /token|secret|password|authorization|cookie|api[-_]?key/i;

function jsonLine({ ts, level, message, common, fields }: LogEntry): string {
  const always = { ts, level, message, ...common };
  // When a field is circular or a bigint, write the message without the fields.
  const whole = orElse(() => JSON.stringify({ ...always, ...fields, ...always }, replace), null);
  return `${whole ?? JSON.stringify(always)}\n`;
}

function prettyLine({ ts, level, message, common, fields }: LogEntry): string {
  const details = Object.entries({ ...fields, ...common }).map(
    ([name, value]) => ` ${name}=${oneLine(replace(name, value))}`,
  );
  return `${ts.slice(11, 19)} ${level.padEnd(5)} ${oneLine(message)}${details.join("")}\n`;
}

function replace(name: string, value: unknown): unknown {
  // Numbers, such as counts of tokens, are not secrets.
  const mayHide = typeof value === "string" || (typeof value === "object" && value !== null);
  if (mayHide && SECRET_FIELD.test(name)) return REDACTED;
  return value instanceof Error ? (value.stack ?? value.message) : value;
}

/** Removes control characters, so that a value on a terminal can neither start a new line nor move the cursor. */
function oneLine(value: unknown): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed.
  return String(value).replaceAll(/[\x00-\x1f\x7f-\x9f]+/g, " ");
}

function escaped(secret: string): string {
  return JSON.stringify(secret).slice(1, -1);
}
