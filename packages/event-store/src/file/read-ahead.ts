import type { FileHandle } from "node:fs/promises";
import { LIMITS } from "../limits.js";
import { lendChunks, takeChunkBack } from "./read-chunk.js";

/** The bytes of a file up to `limit`, in pieces that hold until the next one is asked for; with memory for it the file is read ahead of them. */
export async function* readAhead(file: FileHandle, limit: number): AsyncGenerator<Buffer> {
  let offset = 0;
  const read = async (into: Buffer): Promise<Buffer> => {
    const want = Math.min(into.length, limit - offset);
    const { bytesRead } = want > 0 ? await file.read(into, 0, want, offset) : { bytesRead: 0 };
    offset += bytesRead;
    return into.subarray(0, bytesRead);
  };
  const memory = lendChunks();
  const isAhead = memory.length > 1;
  let coming = read(memory[0]!);
  const proceed = (count: number): void => {
    coming = read(memory[count % memory.length]!);
    // It may fail while nobody waits for it.
    coming.catch(() => {});
  };
  try {
    for (let count = 1; ; count++) {
      const chunk = await coming;
      if (chunk.length === 0) return;
      if (isAhead) proceed(count);
      for (let at = 0; at < chunk.length; at += LIMITS.batchBytes) yield chunk.subarray(at, at + LIMITS.batchBytes);
      if (!isAhead) proceed(count);
    }
  } finally {
    await coming.catch(() => {});
    memory.forEach(takeChunkBack);
  }
}
