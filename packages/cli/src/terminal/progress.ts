/** One line on stderr that tells how far long work is; on anything but a terminal, nothing. */
export interface Progress {
  update(done: number, total?: number): void;
  /** Takes the line away. */
  end(): void;
}

const EVERY_MS = 100;

export function createProgress(stderr: NodeJS.WriteStream, label: string, clock = Date.now): Progress {
  let shownAt = clock();
  let shown = false;
  return {
    update(done, total) {
      const now = clock();
      if (!stderr.isTTY || now - shownAt < EVERY_MS) return;
      shownAt = now;
      shown = true;
      stderr.write(`\r\u001b[K${label} ${done}${total === undefined ? "" : ` of ${total}`}`);
    },
    end() {
      if (shown) stderr.write("\r\u001b[K");
      shown = false;
    },
  };
}
