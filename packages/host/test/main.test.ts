import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const TINY = fileURLToPath(new URL("fixtures/tiny.mjs", import.meta.url));

function tiny(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = spawn(process.execPath, [TINY, ...args], { env: { ...process.env, ...env } });
    const said = { stdout: "", stderr: "" };
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said.stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said.stderr += text;
    });
    child.once("close", (code) => resolve({ code, ...said }));
  });
}

describe("the command line", () => {
  it("runs the named command", async () => {
    const { code, stdout } = await tiny(["walk", "far"]);
    expect({ code, said: JSON.parse(stdout) }).toEqual({
      code: 0,
      said: { name: "walk", flags: {}, operands: ["far"] },
    });
  });

  it("without a command runs the program's fallback, also when options come first", async () => {
    expect(JSON.parse((await tiny([])).stdout)).toEqual({ name: "", flags: {}, operands: [] });
    expect(JSON.parse((await tiny(["-p", "hello"])).stdout)).toMatchObject({ flags: { print: "hello" } });
    expect(JSON.parse((await tiny(["--", "walk"])).stdout)).toMatchObject({ name: "", operands: ["walk"] });
    expect(JSON.parse((await tiny(["-p", "x", "--", "walk"])).stdout)).toMatchObject({ operands: ["walk"] });
    expect((await tiny([], { NO_FALLBACK: "1" })).stdout).toContain("Usage: tiny <command>");
  });

  it.each([
    [["wlak"], 'tiny: unknown command "wlak"; did you mean walk?'],
    [["zzzzzzzz"], 'tiny: unknown command "zzzzzzzz"; see tiny --help'],
    [["--pint", "x"], "tiny: unknown option --pint; did you mean --print?"],
    [["walk", "--lnog"], "tiny walk: unknown option --lnog; did you mean --long?"],
    [["walk", "--zzz"], "tiny walk: unknown option --zzz; --help lists them"],
    [["run", "--stop"], "tiny run: unknown option --stop; did you mean run stop?"],
    [["run", "--id"], "tiny run: unknown option --id; --help lists them"],
    [["walk", "--lost"], "tiny walk: unknown option --lost; --help lists them"],
    [["--print=x", "walk"], "tiny: the command walk comes before its options"],
    [["walk", "a", "b"], 'tiny walk: unexpected argument "b"'],
    [["-p"], "tiny: --print needs a value: --print <prompt>"],
    [["-p", "-x"], "tiny: --print needs a value: --print <prompt>; one that begins with a dash is written --print=-…"],
    [["walk", "--long=far"], "tiny walk: --long takes no value"],
    [["version"], 'tiny: unknown command "version"; see tiny --help'],
    [["help", "wlak"], 'tiny: unknown command "wlak"; did you mean walk?'],
  ])("%j is a mistake: one line, exit 2", async (args, line) => {
    expect(await tiny(args)).toEqual({ code: 2, stdout: "", stderr: `${line}\n` });
  });

  it("shows help or the version", async () => {
    expect((await tiny(["--version"])).stdout).toBe("tiny 1.2.3\n");
    const { stdout } = await tiny(["--help"]);
    expect(stdout).toContain("-p, --print <prompt>");
    expect(stdout).toMatch(/ {2}walk +Summary of walk/);
    expect((await tiny(["walk", "--help"])).stdout).toContain("Usage: tiny walk [options]");
    expect((await tiny(["help", "walk"])).stdout).toContain("Usage: tiny walk [options]");
    expect((await tiny(["help"])).stdout).toBe(stdout);
  });
});

describe("the end of the process", () => {
  it("waits until a reader has taken the output", async () => {
    expect((await tiny(["walk", "--long"])).stdout.length).toBeGreaterThan(2_000_000);
  });

  it.each([
    ["--fail", /^tiny walk: Error: out of order\n {4}at /],
    ["--forget", /^tiny: Error: forgotten\n {4}at /],
  ])("by a bug in the program (%s) shows the stack, exit 70", async (flag, message) => {
    const { code, stderr } = await tiny(["walk", flag]);
    expect(code).toBe(70);
    expect(stderr).toMatch(message);
  });
});
