/**
 * A text that grows by small pieces. Pieces are joined in blocks: held one by one, the many thousands of a long answer would be
 * moved about by every garbage collection until it ends.
 */
export interface GrowingText {
  add(piece: string): void;
  /** The whole text so far. */
  read(): string;
  /** The whole text so far, and begins anew. */
  take(): string;
}

const PIECES_PER_BLOCK = 64;

export function createGrowingText(): GrowingText {
  let blocks: string[] = [];
  let pieces: string[] = [];
  const read = (): string => {
    if (pieces.length > 0) blocks.push(pieces.join(""));
    pieces = [];
    if (blocks.length > 1) blocks = [blocks.join("")];
    return blocks[0] ?? "";
  };
  return {
    read,
    add(piece) {
      if (pieces.push(piece) < PIECES_PER_BLOCK) return;
      blocks.push(pieces.join(""));
      pieces = [];
    },
    take() {
      const text = read();
      blocks = [];
      return text;
    },
  };
}
