/** The pictures that every provider takes. One that is refused would spoil all requests of its conversation. */
import type { ToolImage } from "./tool.js";

const TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** In base64, where the strictest of them counts, these are 5 MiB. */
export const MAX_PICTURE_BYTES = (5 * 1024 * 1024 * 3) / 4;

export function isPicture(image: { readonly mimeType?: unknown; readonly data?: unknown }): image is ToolImage {
  const { mimeType, data } = image;
  if (typeof mimeType !== "string" || !TYPES.has(mimeType) || typeof data !== "string") return false;
  return data.length <= (MAX_PICTURE_BYTES * 4) / 3 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}
