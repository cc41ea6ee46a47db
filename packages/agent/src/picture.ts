/** The pictures that every provider takes. One that is refused would spoil all requests of its conversation. */
import type { ToolImage } from "./tool.js";

const TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** 5 MiB, as base64. */
const LONGEST = Math.ceil((5 * 1024 * 1024 * 4) / 3);

export function isPicture(image: { readonly mimeType?: unknown; readonly data?: unknown }): image is ToolImage {
  const { mimeType, data } = image;
  if (typeof mimeType !== "string" || !TYPES.has(mimeType) || typeof data !== "string") return false;
  return data.length <= LONGEST && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}
