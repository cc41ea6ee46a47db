/** Whether the text is what the pattern says, in which only `*` means something. Linear in practice: on a mismatch the last star moves on. */
export function globMatches(pattern: string, text: string): boolean {
  let [at, star, mark, index] = [0, -1, 0, 0];
  while (index < text.length) {
    if (at < pattern.length && pattern[at] === "*") {
      [star, mark] = [at, index];
      at += 1;
    } else if (at < pattern.length && pattern[at] === text[index]) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      mark += 1;
      index = mark;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at += 1;
  return at >= pattern.length;
}

/** A shell pattern as one that matches no less: everything that stands for a character stands for any text. */
export function loosened(pattern: string): string {
  return pattern.replace(/\?|\[[^\]]*\]?/g, "*");
}
