// Turns a directory into a symlink to OUT and back until COUNT flips succeeded: node flip.mjs DIR OUT COUNT
import { renameSync, rmSync, symlinkSync, unlinkSync } from "node:fs";

const [dir, out, count] = process.argv.slice(2);
for (let flips = 0; flips < Number(count); ) {
  try {
    renameSync(dir, `${dir}.real`);
    symlinkSync(out, dir);
    unlinkSync(dir);
    renameSync(`${dir}.real`, dir);
    flips += 1;
  } catch {
    // A restore made the directory anew in the moment it was away: clear the place, wait for the next one.
    for (const path of [dir, `${dir}.real`]) {
      try {
        rmSync(path, { recursive: true, force: true });
      } catch {}
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
