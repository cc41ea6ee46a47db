import { randomBytes } from "node:crypto";
import { StoreError } from "./errors.js";

const CANONICAL = /^([a-z][a-z0-9]*)-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})-([0-9a-f]{8})$/;
/** A directory name on every platform: no separators, no leading dot, no device colon, no trailing dot. */
const SAFE_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9_-])?$/;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** A session id such as `otter-20260425T120300-aaaa1111`: ids of one prefix sort by their time of creation, in UTC. */
export function makeSessionId(
  prefix: string,
  now: number | Date = Date.now(),
  random: string = randomBytes(4).toString("hex"),
): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
  const id = `${prefix}-${stamp}-${random}`;
  if (!CANONICAL.test(id)) throw new StoreError("invalid_id", `not a session id: ${JSON.stringify(id)}`);
  return id;
}

/** True for an id of the form `makeSessionId` makes. */
export function isSessionId(value: unknown): value is string {
  return typeof value === "string" && CANONICAL.test(value) && !Number.isNaN(sessionTime(value));
}

/** The text before the first `-`. */
export function sessionPrefix(id: string): string {
  const dash = id.indexOf("-");
  return dash < 0 ? id : id.slice(0, dash);
}

/** When the id says the session was created, as epoch milliseconds; NaN for an id chosen by a person. */
export function sessionTime(id: string): number {
  const match = CANONICAL.exec(id);
  if (match === null) return Number.NaN;
  const year = Number(match[2]);
  const month = Number(match[3]);
  const day = Number(match[4]);
  const hour = Number(match[5]);
  const minute = Number(match[6]);
  const second = Number(match[7]);
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59) return Number.NaN;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** True for an id that is a directory name on every platform. At most 128 characters. */
export function isStorableId(id: unknown): id is string {
  return typeof id === "string" && SAFE_NAME.test(id) && !WINDOWS_DEVICE.test(id);
}

/** Refuses an id that could leave its directory or not exist on some platform. */
export function assertStorableId(id: string): void {
  if (isStorableId(id)) return;
  throw new StoreError("invalid_id", `not usable as a session id: ${JSON.stringify(String(id).slice(0, 140))}`);
}
