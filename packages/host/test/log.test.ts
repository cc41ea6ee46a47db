import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createLog, createLogFile, type LogLevel } from "../src/index.js";
import { makeHome, run } from "./program.js";

interface Collecting {
  readonly level?: LogLevel;
  readonly pretty?: boolean;
  readonly secrets?: string[];
  readonly common?: Record<string, unknown>;
}

function collect(options: Collecting = {}) {
  const lines: string[] = [];
  const sink = { pretty: options.pretty ?? false, write: (line: string) => void lines.push(line) };
  const { level = "debug", secrets = [], common = {} } = options;
  return { lines, log: createLog({ level, sinks: [sink], secrets, common, clock: () => 0 }) };
}

describe("lines", () => {
  it("are one JSON object each, with the given ids", () => {
    const { lines, log } = collect();
    log.info("hello\nworld", { session: "otter-1", request: "r1", level: "forged" });
    expect(lines).toEqual([
      '{"ts":"1970-01-01T00:00:00.000Z","level":"info","message":"hello\\nworld","session":"otter-1","request":"r1"}\n',
    ]);
  });

  it("all have the common fields, also when their own fields cannot be written", () => {
    const common = { launched_by: "zed\n" };
    const { lines, log } = collect({ common });
    log.info("a", { launched_by: "forged", n: 1 });
    log.info("b", { big: 1n });
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { ts: "1970-01-01T00:00:00.000Z", level: "info", message: "a", ...common, n: 1 },
      { ts: "1970-01-01T00:00:00.000Z", level: "info", message: "b", ...common },
    ]);
    const pretty = collect({ common, pretty: true });
    pretty.log.info("a", { n: 1 });
    expect(pretty.lines).toEqual(["00:00:00 info  a n=1 launched_by=zed \n"]);
  });

  it("below the level are left out", () => {
    const { lines, log } = collect({ level: "warn" });
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
    expect(lines.map((line) => JSON.parse(line).message)).toEqual(["c", "d"]);
    const silent = collect({ level: "silent" });
    silent.log.error("e");
    expect(silent.lines).toEqual([]);
  });

  it("for a person are plain text that can neither move the cursor nor start a new line", () => {
    const { lines, log } = collect({ pretty: true });
    log.warn("careful", { path: "a\u001b[2J\nb\u009b" });
    expect(lines).toEqual(["00:00:00 warn  careful path=a [2J b \n"]);
  });

  it("show errors with their stack, and survive fields that JSON cannot hold", () => {
    const { lines, log } = collect();
    log.error("failed", { error: new TypeError("odd") });
    expect(JSON.parse(lines[0]!).error).toContain("TypeError: odd\n    at ");
    const loop: Record<string, unknown> = {};
    loop["loop"] = loop;
    log.error("still told", { loop, big: 1n });
    expect(JSON.parse(lines[1]!).message).toBe("still told");
  });
});

describe("secrets", () => {
  it("are hidden by the name of their field at any depth", () => {
    const { lines, log } = collect();
    log.info("in", {
      authToken: "abc",
      headers: { Authorization: "Bearer abc", "x-api-key": "abc" },
      open: "abc",
      tokens: 7,
    });
    expect(JSON.parse(lines[0]!)).toMatchObject({
      authToken: "[redacted]",
      headers: { Authorization: "[redacted]", "x-api-key": "[redacted]" },
      open: "abc",
      tokens: 7,
    });
  });

  it("are hidden by their value anywhere in a line", () => {
    for (const pretty of [true, false]) {
      const { lines, log } = collect({ pretty, secrets: ['s3cret"value', "short"] });
      log.info('a s3cret"value here', { url: 'https://x/?s3cret"value', short: "short" });
      expect(lines[0]).not.toMatch(/s3cret/);
      expect(lines[0]).toContain("short");
    }
  });
});

describe("a log file", () => {
  it("is rotated at its limit, and a fixed number of old ones is kept", async () => {
    const path = join(await makeHome(), "logs", "otter.log");
    const file = createLogFile(path, { maxBytes: 100, keep: 2 });
    for (let number = 1; number <= 9; number++) file.write(`${String(number).repeat(40)}\n`);
    file.close();
    const firsts = [path, `${path}.1`, `${path}.2`].map((name) => readFileSync(name, "utf8")[0]);
    expect(firsts).toEqual(["9", "7", "5"]);
    expect(existsSync(`${path}.3`)).toBe(false);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("can be shared: when another process has moved it away, it is not moved twice", async () => {
    const path = join(await makeHome(), "otter.log");
    const [one, two] = [createLogFile(path, { maxBytes: 100 }), createLogFile(path, { maxBytes: 100 })];
    one.write(`${"a".repeat(90)}\n`);
    one.write(`${"b".repeat(20)}\n`);
    two.write(`${"c".repeat(20)}\n`);
    expect(readFileSync(path, "utf8")).toMatch(/^b+\nc+\n$/);
    expect(readFileSync(`${path}.1`, "utf8")).toMatch(/^a+\n$/);
    one.close();
    two.close();
  });

  it("is refused when its path, or the path of an old one, holds another file", async () => {
    for (const name of ["notes.txt", "notes.txt.2"]) {
      const home = await makeHome();
      writeFileSync(join(home, name), "dear diary\n");
      expect(() => createLogFile(join(home, "notes.txt"))).toThrow(/notes.* is not a log file/);
    }
    const path = join(await makeHome(), "otter.log");
    writeFileSync(path, '{"ts":"2026-11-17T00:00:00.000Z"}\n');
    createLogFile(path).close();
  });

  it("that cannot be written loses lines and does not stop the program", async () => {
    const home = await makeHome();
    const path = join(home, "otter.log");
    const file = createLogFile(path, { maxBytes: 10 });
    file.write("x".repeat(9));
    renameSync(home, `${home}-gone`);
    expect(() => file.write("more than fits")).not.toThrow();
    renameSync(`${home}-gone`, home);
    file.write("back\n");
    expect(readFileSync(path, "utf8")).toContain("back");
    file.close();
  });

  it("is written by serve, besides stderr", async () => {
    const home = await makeHome();
    const path = join(home, "otter.log");
    const { code, stderr } = await run(home, ["acp", "--log-file", path], {
      env: { OTTER_PORT: "1" },
    });
    expect(code).toBe(0);
    expect(stderr).toBe("");
    expect(existsSync(path)).toBe(true);
  });
});
