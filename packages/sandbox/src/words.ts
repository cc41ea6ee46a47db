/** A list of words, written as a text. */
export function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
