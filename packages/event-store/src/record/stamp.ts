const ISO_MS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/**
 * A clock whose ISO time stamps never decrease within one log, nor below its last record's. Formatting costs more than all
 * else in a short append, so the text is kept for its millisecond.
 */
export function createStamp(clock: () => number, last = ""): () => string {
  let millisecond = ISO_MS.test(last) ? Date.parse(last) : 0;
  // Made anew: the text it comes from is a piece of all that was read with it, and would hold on to that.
  let text = millisecond > 0 ? new Date(millisecond).toISOString() : "";
  return () => {
    const time = clock();
    if (time > millisecond || text === "") {
      millisecond = time;
      text = new Date(time).toISOString();
    }
    return text;
  };
}
