/** Settings that are one of a few words, listed from the strictest on. */

/** The word that a person typed (`read_only`, any case), or undefined. */
export function wordIn<Word extends string>(words: readonly Word[], text: string): Word | undefined {
  const typed = text.trim().toLowerCase().replaceAll("_", "-");
  return words.find((word) => word === typed);
}

/** The one that allows less. */
export function stricter<Word extends string>(words: readonly Word[], one: Word, other: Word): Word {
  return words.indexOf(one) < words.indexOf(other) ? one : other;
}
