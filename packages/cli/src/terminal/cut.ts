/** At most `width` columns of a text, the last one an ellipsis when something is missing. */
import type { WidthOf } from "./width.js";

export function cut(text: string, width: number, widthOf: WidthOf): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let taken = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    taken += widthOf(segment);
    if (taken > width - 1) break;
    kept += segment;
  }
  return width > 0 ? `${kept}…` : "";
}
