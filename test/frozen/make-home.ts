// Makes the frozen home again, with the programs of version 0.1 only; kept to show what is in the home and how it came there:
//   CHIMERA_APPS=$(node bench/build-commit.mjs b06a4b9)/apps node_modules/.bin/vitest run --config test/frozen/vitest.config.ts
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { fileScope } from "../program.js";
import { makeCrashes } from "./crashes.js";
import { makeDamages } from "./damages.js";
import { freeze } from "./freeze.js";
import type { Made } from "./made.js";
import { makeOverAcp } from "./over-acp.js";
import { makeOverHttp } from "./over-http.js";
import { takePlace } from "./place.js";

const atEnd = fileScope();

test("makes the home", async () => {
  const apps = process.env["CHIMERA_APPS"];
  expect(apps, "CHIMERA_APPS names the programs").toBeDefined();
  expect(execFileSync("git", ["-C", apps!, "rev-parse", "HEAD"], { encoding: "utf8" })).toMatch(/^b06a4b9/);
  await takePlace(atEnd);
  const made: Made = new Map();
  // Crashes come last: a program that starts after one settles it.
  for (const make of [makeOverHttp, makeOverAcp, makeDamages, makeCrashes]) await make(made);
  await freeze(made);
});
