// acpx from npm, a headless client of ACP, against both built programs.
import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repositoryRoot } from "../scratch.js";
import { install, removeHome } from "./home.js";

/** The last version that runs on Node 20, and the newest, which brings the Node it needs. */
const CLIENTS = [
  { acpx: "0.1.15", node: null },
  { acpx: "latest", node: "22" },
];
const script = {
  repeat: true,
  turns: [
    { steps: [{ reply: [{ text: "Hello from the script.", chunks: 2 }] }] },
    { steps: [{ reply: [{ text: "word ".repeat(300), chunks: 300, delayMs: 100 }] }] },
  ],
};

describe.each(CLIENTS)("acpx $acpx", ({ acpx: version, node }) => {
  let home: string;
  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), "chimera-acpx-"));
    install(home, `acpx@${version}`, ...(node === null ? [] : [`node@${node}`]));
    writeFileSync(join(home, "script.json"), JSON.stringify(script));
  });
  afterAll(() => removeHome(home));

  describe.each([
    { program: "otter", flags: "" },
    // Its default preset leaves one mode.
    { program: "ferret", flags: "--approval auto" },
  ])("drives $program", ({ program, flags }) => {
    const acpx = (...args: string[]) =>
      new Promise<string>((resolve) => {
        const cli = join(repositoryRoot, "apps", program, "dist", "cli.js");
        const agent = `${process.execPath} ${cli} acp ${flags} --model scripted:${join(home, "script.json")}`;
        const client = join(home, "node_modules", "acpx", "dist", "cli.js");
        const env = { PATH: process.env["PATH"], HOME: join(home, program), CHIMERA_HOME: join(home, program, "data") };
        execFile(
          node === null ? process.execPath : join(home, "node_modules", "node", "bin", "node"),
          [client, "--cwd", home, "--ttl", "20", "--agent", agent, ...args],
          { env, timeout: 120_000 },
          (error, stdout, stderr) => resolve(`${stdout}${stderr}${error ? `\nexit ${error.code}` : ""}`),
        );
      });

    test("exec answers once", async () => {
      const output = await acpx("exec", "say hello");
      expect(output).toContain("Hello from the script.");
      expect(output).toContain("end_turn");
    });

    test("a named session is made, prompted, set, cancelled, listed and closed", async () => {
      const id = new RegExp(`${program}-\\d{8}T\\d{6}-[0-9a-f]{8}`);
      const made = (await acpx("sessions", "new", "--name", "work")).match(id)?.[0];
      expect(made).toBeDefined();
      expect(await acpx("prompt", "-s", "work", "say hello")).toContain("Hello from the script.");
      expect(await acpx("set-mode", "-s", "work", "auto")).toContain("mode set: auto");
      expect(await acpx("set", "-s", "work", "mode", "review")).toContain("config set: mode=review");
      const running = acpx("prompt", "-s", "work", "talk");
      await new Promise((resolve) => setTimeout(resolve, 6000));
      expect(await acpx("cancel", "-s", "work")).toContain("cancel");
      expect(await running).toContain("cancelled");
      const model = `scripted:${join(home, "script.json")}`;
      expect(await acpx("set", "-s", "work", "model", model)).toMatch(/(config set: model=|model set: )/);
      expect(await acpx("sessions", "list")).toContain(made);
      expect(await acpx("sessions", "close", "work")).toContain(made);
    });
  });
});
