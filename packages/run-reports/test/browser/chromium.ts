import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** The first Chromium browser on the PATH. */
export function findChromium(): string | null {
  const places = (process.env["PATH"] ?? "").split(delimiter);
  return places.flatMap((place) => NAMES.map((name) => join(place, name))).find((path) => existsSync(path)) ?? null;
}
