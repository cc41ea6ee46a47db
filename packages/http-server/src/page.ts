/** Serves the files of the page from memory to everybody. Their policy lets a browser run only these files. */
import { createHash } from "node:crypto";
import type { Context } from "hono";
import { accepts } from "./answer.js";
import type { AppEnv, PageFile } from "./deps.js";

/** Answers with the file that a request asks for. Null if there is no such file. */
export type AnswerPage = (c: Context<AppEnv>) => Promise<Response | null>;

export function createPage(read: () => Promise<readonly PageFile[]>): AnswerPage {
  let reading: Promise<ReadonlyMap<string, Served>> | null = null;
  const files = () => {
    reading ??= read().then((all) => new Map(all.map((file) => [file.path, serve(file)])));
    // The next request tries again.
    reading.catch(() => {
      reading = null;
    });
    return reading;
  };
  return async (c) => {
    if (c.req.method !== "GET" && c.req.method !== "HEAD") return null;
    const file = (await files()).get(c.req.path);
    if (!file) return null;
    const accepted = c.req.header("accept-encoding");
    const { encoding, body, etag } = file.forms.find(({ encoding: one }) => one === null || accepts(accepted, one))!;
    const headers = { ...file.headers, ETag: etag, ...(encoding && { "Content-Encoding": encoding }) };
    if (c.req.header("if-none-match")?.includes(etag)) return c.body(null, 304, headers);
    return c.body(body as Uint8Array<ArrayBuffer>, 200, { ...headers, "Content-Length": String(body.byteLength) });
  };
}

// --- internal ---

/** Only the Trusted Types policy `md` may turn text into HTML. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types md",
].join("; ");

interface Form {
  readonly encoding: "br" | "gzip" | null;
  readonly body: Uint8Array;
  readonly etag: string;
}

type Served = ReturnType<typeof serve>;

function serve({ type, immutable, body, gzip, brotli }: PageFile) {
  const hash = createHash("sha256").update(body).digest("base64url").slice(0, 22);
  const forms: Form[] = [{ encoding: null, body, etag: `"${hash}"` }];
  if (gzip) forms.unshift({ encoding: "gzip", body: gzip, etag: `"${hash}-gz"` });
  if (brotli) forms.unshift({ encoding: "br", body: brotli, etag: `"${hash}-br"` });
  const headers = {
    "Content-Type": type,
    "Content-Security-Policy": POLICY,
    "Cache-Control": immutable ? "public, max-age=31536000, immutable" : "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    Vary: "Accept-Encoding",
  };
  return { headers /** The file in each encoding, smallest first. The last one is not encoded. */, forms };
}
