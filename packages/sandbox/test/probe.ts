/** Whether this machine can confine commands at all. */
import { createSandbox } from "../src/index.js";

export const probe = await createSandbox({
  mode: "read-only",
  osSandbox: "auto",
  workspace: { cwd: process.cwd() },
  stateDir: "/nonexistent",
  env: process.env,
  log: () => {},
}).probe();
