// The two programs are one: what differs is said in their profiles, and nowhere else.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { profile as ferret } from "../apps/ferret/src/profile.js";
import { profile as otter } from "../apps/otter/src/profile.js";
import { startProgram } from "./program.js";
import { repositoryRoot as root } from "./scratch.js";

const sourcesBelow = (path: string) =>
  readdirSync(join(root, path), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(root, path, name));

test("every source file of otter is ferret's too, but for the name, the profile and the command of an extension", () => {
  const source = (app: string, file: string) => readFileSync(join(root, "apps", app, "src", file), "utf8");
  const files = readdirSync(join(root, "apps/otter/src")).sort();
  expect(files).toEqual(["about.ts", "main.ts", "profile.ts", "program.ts"]);
  for (const file of files.filter((name) => name !== "profile.ts")) {
    const shared = source("ferret", file)
      .replace("{ bridgeCommand, profile }", "{ profile }")
      .replace(", bridgeCommand(name)", "")
      .replace('"ferret"', '"otter"');
    expect(shared, file).toBe(source("otter", file));
  }
});

test("otter is ferret without its extensions", () => {
  expect(Object.keys(ferret).sort()).toEqual(Object.keys(otter).sort());
  expect({ settings: otter.settings, flags: otter.flags }).toEqual({ settings: {}, flags: {} });
  expect(otter.extensions).toEqual([]);
  expect(ferret.extensions.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["sandbox", "approval", "editor-notifications"]),
  );
});

test("no shared code asks which program it is", () => {
  const shared = ["host", "cli", "session", "agent", "acp-server", "http-server"];
  const asking = shared
    .flatMap((name) => sourcesBelow(`packages/${name}/src`))
    .filter((path) =>
      /[!=]==? *["'](?:otter|ferret)["']|case ["'](?:otter|ferret)["']/.test(readFileSync(path, "utf8")),
    );
  expect(asking).toEqual([]);
});

test("an answer whose calls were not permitted names the flag that permits them", async () => {
  const write = ["-p", "write a.txt: hello", "--sandbox", "workspace-write"];
  const refused = startProgram("ferret", write);
  expect(await refused.exited).toBe(3);
  const [flag = ""] = /--[\w-]+(?= permits writes and commands)/.exec(refused.stderr()) ?? [];
  const permitted = startProgram("ferret", [...write, flag]);
  expect(await permitted.exited, permitted.stderr()).toBe(0);
  expect(readFileSync(join(permitted.cwd, "a.txt"), "utf8")).toBe("hello");
});
