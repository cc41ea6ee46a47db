/** What a search is asked and what it answers, whoever does it. */
export interface SearchRequest {
  readonly pattern: string;
  readonly glob: string | undefined;
  readonly ignoreCase: boolean;
  /** A real path: a directory, or one file. */
  readonly root: string;
  readonly signal: AbortSignal;
}

export interface Match {
  /** Relative to the root; empty when the root is the file. */
  readonly path: string;
  readonly line: number;
  readonly text: string;
}
