// Loaded into a program before it starts: its wall clock is off by what a file says, and jumps when that changes.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const Real = Date;
const file = join(process.env.CHIMERA_HOME, "..", "clock");
let offset = 0;
const look = () => {
  try {
    offset = Number(readFileSync(file, "utf8")) || 0;
  } catch {
    // No jump so far.
  }
};
look();
setInterval(look, 100).unref();

globalThis.Date = class extends Real {
  constructor(...given) {
    if (given.length === 0) super(Real.now() + offset);
    else super(...given);
  }
  static now() {
    return Real.now() + offset;
  }
};
