// Turns a directory into a symlink to OUT and back, COUNT times: node flip.mjs DIR OUT COUNT
import { renameSync, symlinkSync, unlinkSync } from "node:fs";

const [dir, out, count] = process.argv.slice(2);
for (let i = 0; i < Number(count); i += 1) {
  renameSync(dir, `${dir}.real`);
  symlinkSync(out, dir);
  unlinkSync(dir);
  renameSync(`${dir}.real`, dir);
}
