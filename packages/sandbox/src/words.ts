/** The first result that is not undefined. */
export function firstOf<T, R>(items: Iterable<T>, ask: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const answer = ask(item);
    if (answer !== undefined) return answer;
  }
  return undefined;
}

/** Splits a text into words. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
