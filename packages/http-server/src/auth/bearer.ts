/** Bearer tokens: read from one header, kept and compared as digests. */
import { createHash, timingSafeEqual } from "node:crypto";

/** The token of an Authorization header; null for none, another scheme, or two headers (which arrive joined by a comma). */
export function bearerToken(header: string | undefined): string | null {
  return /^Bearer +([^\s,]+)$/i.exec(header ?? "")?.[1] ?? null;
}

export function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** In constant time, whatever was presented. */
export function sameDigest(a: Buffer, b: Buffer): boolean {
  return timingSafeEqual(a, b);
}
