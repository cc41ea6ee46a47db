/** A clock whose ISO time stamps never decrease within one log. */
export interface Stamp {
  /** The present, or the last stamp when the clock went back. */
  now(): string;
  /** A given stamp when it is one and not before the last, else the present: copied records keep their time. */
  keep(ts: unknown): string;
}

const ISO_MS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

/** Formatting costs more than all else in a short append, so the text is kept for its millisecond. */
export function createStamp(clock: () => number, last = ""): Stamp {
  let text = ISO_MS.test(last) ? last : "";
  let millisecond = text === "" ? 0 : Date.parse(text);
  const now = (): string => {
    const time = clock();
    if (time > millisecond || text === "") {
      millisecond = time;
      text = new Date(time).toISOString();
    }
    return text;
  };
  return {
    now,
    keep(ts) {
      if (typeof ts !== "string" || !ISO_MS.test(ts) || ts < text) return now();
      text = ts;
      millisecond = Date.parse(ts);
      return text;
    },
  };
}
