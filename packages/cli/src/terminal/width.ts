/** How many columns a text without colours takes on the screen. */
export type WidthOf = (text: string) => number;

/** What measures these texts. Most are ASCII, and the tables for all others take longer to load than a list to print. */
export async function measureFor(texts: readonly string[]): Promise<WidthOf> {
  return texts.every((text) => ASCII.test(text)) ? (text) => text.length : (await import("string-width")).default;
}

// --- internal ---

const ASCII = /^[\x20-\x7e]*$/;
