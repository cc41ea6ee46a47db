import { randomUUID } from "node:crypto";
import { StoreError } from "./errors.js";

const CANONICAL = /^[a-z][a-z0-9]*-\d{8}T\d{6}-[0-9a-f]{8}$/;
const TIME_AND_RANDOM = "YYYYMMDDTHHMMSS-xxxxxxxx";
/** A valid directory name on every platform: no separators, no leading dot, no device colon, no trailing dot. */
const SAFE_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/;
const MAX_LENGTH = 128;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** The name of the session index, also while it is written. Some file systems ignore case. */
const KEPT_NAME = /^index\.ndjson(?:\.|$)/i;

/**
 * A session id such as `otter-20260425T120300-aaaa1111`: ids of one prefix sort by their time of creation, in UTC. Of the eight
 * digits at the end, the first two count 256ths of a second, so that sessions made within one second sort in order too.
 *
 * @example
 * makeSessionId("mine", Date.now(), "aaaa1111"); // "mine-20260425T120300-aaaa1111"
 */
export function makeSessionId(prefix: string, now: number | Date = Date.now(), end?: string): string {
  const time = new Date(now);
  const stamp = time.toISOString().slice(0, 19).replaceAll("-", "").replaceAll(":", "");
  const id = `${prefix}-${stamp}-${end ?? uniqueEnd(time.getUTCMilliseconds())}`;
  if (!CANONICAL.test(id)) throw new StoreError("invalid_id", `not a session id: ${JSON.stringify(id)}`);
  return id;
}

/**
 * True for an id of the form `makeSessionId` makes.
 *
 * @example
 * isSessionId("otter-20260425T120300-aaaa1111"); // true
 */
export function isSessionId(value: unknown): value is string {
  return typeof value === "string" && CANONICAL.test(value) && !Number.isNaN(sessionTime(value));
}

/**
 * The text before the first `-`.
 *
 * @example
 * sessionPrefix("otter-20260425T120300-aaaa1111"); // "otter"
 */
export function sessionPrefix(id: string): string {
  const dash = id.indexOf("-");
  return dash < 0 ? id : id.slice(0, dash);
}

/**
 * When the id says the session was created, as epoch milliseconds; NaN for an id chosen by a person.
 *
 * @example
 * new Date(sessionTime("otter-20260425T120300-aaaa1111")).toISOString(); // "2026-04-25T12:03:00.000Z"
 */
export function sessionTime(id: string): number {
  if (!CANONICAL.test(id)) return Number.NaN;
  const at = id.length - TIME_AND_RANDOM.length;
  const [month, day] = [digits(id, at + 4, 2), digits(id, at + 6, 2)];
  const [hour, minute, second] = [digits(id, at + 9, 2), digits(id, at + 11, 2), digits(id, at + 13, 2)];
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59) return Number.NaN;
  return Date.UTC(digits(id, at, 4), month - 1, day, hour, minute, second);
}

/** True for an id of at most 128 characters that is a valid directory name on every platform and not the name of a store's own file. */
export function isStorableId(id: unknown): id is string {
  if (typeof id !== "string" || id.length > MAX_LENGTH) return false;
  return CANONICAL.test(id) || (SAFE_NAME.test(id) && !WINDOWS_DEVICE.test(id) && !KEPT_NAME.test(id));
}

/** Throws `invalid_id` for an id that could leave its directory, or that is not a valid name on some platform. */
export function assertStorableId(id: string): void {
  if (isStorableId(id)) return;
  throw new StoreError("invalid_id", `not usable as a session id: ${JSON.stringify(String(id).slice(0, 140))}`);
}

// --- internal ---

function uniqueEnd(milliseconds: number): string {
  const fraction = Math.floor((milliseconds * 256) / 1000);
  return fraction.toString(16).padStart(2, "0") + randomUUID().slice(-6);
}

/** The number in some digits of a text. Makes no substrings, because lists call it for every session. */
function digits(text: string, at: number, count: number): number {
  let value = 0;
  for (let i = at; i < at + count; i++) value = value * 10 + text.charCodeAt(i) - 48;
  return value;
}
