/** A turn over fifty files of every kind of change, and what it takes to see that a restore is all or nothing. */
import { execFileSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Direction } from "../src/index.js";
import type { Fixture } from "./workspace.js";

export interface FiftyFiles {
  /** The workspace before and after the restore. */
  readonly from: Record<string, string>;
  readonly to: Record<string, string>;
  /** Puts workspace and store back to what the restore finds. */
  reset(): void;
}

export async function fiftyFiles(f: Fixture, direction: Direction = "undo"): Promise<FiftyFiles> {
  for (let i = 0; i < 40; i += 1) f.write(`d${i % 5}/f${i}`, `old ${i}`);
  f.write("thing", "a file");
  const old = f.tree();
  await f.shellTurn(
    0,
    `for f in d0/* d1/* d2/*; do echo new >> $f; done; rm -r d3; for f in d4/*; do mv $f $f.moved; done
     rm thing; mkdir thing; echo x > thing/inside; ln -s d0 link; chmod 600 d0/f0`,
  );
  const now = f.tree();
  if (direction === "redo") await f.session.undo();
  const log = structuredClone(f.log);
  const saved = join(f.base, "saved");
  const copy = (from: string, to: string) => {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  };
  execFileSync("mkdir", ["-p", saved]);
  copy(f.ws, join(saved, "ws"));
  copy(f.root, join(saved, "store"));
  return {
    ...(direction === "undo" ? { from: now, to: old } : { from: old, to: now }),
    reset() {
      copy(join(saved, "ws"), f.ws);
      copy(join(saved, "store"), f.root);
      Object.assign(f.log, structuredClone(log));
    },
  };
}
