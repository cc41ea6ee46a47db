const ISO_MS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/**
 * A clock whose ISO time stamps never decrease within one log, nor below its last record's. Formatting costs more than all
 * else in a short append, so the text is kept for its millisecond.
 */
export function createStamp(clock: () => number, last = ""): () => string {
  let text = ISO_MS.test(last) ? last : "";
  let millisecond = text === "" ? 0 : Date.parse(text);
  return () => {
    const time = clock();
    if (time > millisecond || text === "") {
      millisecond = time;
      text = new Date(time).toISOString();
    }
    return text;
  };
}
