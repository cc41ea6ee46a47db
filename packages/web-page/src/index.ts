/** `@chimera/web-page`: the files of the page at `/`, for a server that has them in memory. */
import { promisify } from "node:util";
import { brotliDecompress, gzip } from "node:zlib";
import { files } from "#page-files";

export interface PageFile {
  /** `/` for the document, `/assets/…` for the rest. */
  readonly path: string;
  readonly type: string;
  /** Its name changes with its content. */
  readonly immutable: boolean;
  readonly body: Uint8Array;
  readonly gzip: Uint8Array;
  readonly brotli: Uint8Array;
}

/**
 * Every file of the page: plain, and as each compression sends it.
 *
 * @example
 * const files = await readPage();
 * files.find(({ path }) => path === "/")?.type; // "text/html; charset=utf-8"
 */
export async function readPage(): Promise<readonly PageFile[]> {
  return await Promise.all(
    files.map(async ({ path, type, immutable, brotli }) => {
      const compressed = Buffer.from(brotli, "base64");
      const body = await promisify(brotliDecompress)(compressed);
      return { path, type, immutable, body, gzip: await promisify(gzip)(body), brotli: compressed };
    }),
  );
}
