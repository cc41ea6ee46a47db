import { spawnSync } from "node:child_process";

/** Without bubblewrap the escape suite could only test the refusal, so it is installed where that is possible. */
export default function install(): void {
  const works = (file: string, args: readonly string[]): boolean =>
    spawnSync(file, args, { stdio: "ignore", timeout: 100_000 }).status === 0;
  if (process.platform !== "linux" || works("bwrap", ["--version"])) return;
  if (process.getuid?.() !== 0 || !works("apt-get", ["--version"])) return;
  works("apt-get", ["update", "-q"]);
  works("apt-get", ["install", "-y", "-q", "--no-install-recommends", "bubblewrap"]);
}
