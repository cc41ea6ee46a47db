/** What scripts/build-page.mjs writes: the files of the page, compressed. */
declare module "#page-files" {
  export const files: readonly {
    readonly path: string;
    readonly type: string;
    readonly immutable: boolean;
    /** Brotli, in base64. */
    readonly brotli: string;
  }[];
}
