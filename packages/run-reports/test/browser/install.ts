/** Installs a browser, or fails, because without one these tests would prove nothing. */
import { execFileSync } from "node:child_process";
import { findChromium } from "./chromium.js";

export default function setup(): void {
  if (findChromium() !== null) return;
  execFileSync("apt-get", ["install", "-y", "--no-install-recommends", "chromium"], { stdio: "inherit" });
  if (findChromium() === null) throw new Error("no chromium on the PATH, and none could be installed");
}
