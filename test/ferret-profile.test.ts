// The two programs are one: what differs is said in their profiles, and nowhere else.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { profile as ferret } from "../apps/ferret/src/profile.js";
import { profile as otter } from "../apps/otter/src/profile.js";
import { repositoryRoot as root } from "./scratch.js";

const sourcesBelow = (path: string) =>
  readdirSync(join(root, path), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(root, path, name));

test("both are a main and a profile, and the main is the same but for the command of an extension", () => {
  const main = (app: string) => readFileSync(join(root, "apps", app, "src", "main.ts"), "utf8");
  const withoutBridge = main("ferret")
    .replace(/^import { bridgeCommand } .*\n/m, "")
    .replace("[...serveCommands(name), bridgeCommand(name)]", "serveCommands(name)");
  expect(withoutBridge).toBe(main("otter"));
  expect(readdirSync(join(root, "apps/otter/src")).sort()).toEqual(["main.ts", "profile.ts"]);
});

test("otter is ferret without its extensions", async () => {
  expect(Object.keys(ferret).sort()).toEqual(Object.keys(otter).sort());
  expect({ settings: otter.settings, flags: otter.flags }).toEqual({ settings: {}, flags: {} });
  expect(await otter.extensions()).toEqual([]);
  expect((await ferret.extensions()).map(({ name }) => name)).toEqual(
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
