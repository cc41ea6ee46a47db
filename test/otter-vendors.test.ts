// The built program with each vendor's rules: a turn that reads a file, and another one in a new process that continues it.
import { expect, onTestFinished, test } from "vitest";
import { vendors } from "../packages/agent/test/vendors/all.js";
import { type ModelReply, startVendor } from "../packages/agent/test/vendors/vendor.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const read = { call: "Read", args: { path: "README.md" } };
const replies: ModelReply[] = [
  { says: [{ reasoning: "First the file." }, { text: "Reading." }, read, { call: "list_files", args: {} }] },
  { says: [{ hidden: true }, { text: "And once more." }, { reasoning: "To be sure." }, read] },
  { says: [{ text: "A workspace." }] },
  { says: [{ reasoning: "Again." }, read] },
  { says: [{ text: "Still a workspace." }] },
];

test.each(vendors)("$name", async ({ create, env = {} }) => {
  const vendor = create();
  const running = await startVendor(vendor, replies);
  onTestFinished(running.close);
  const home = scratchTree({});
  const cwd = scratchTree({ "README.md": "# A workspace\n" });
  const run = async (...args: string[]) => {
    const named = ["-p", ...args, "--model", vendor.model];
    const program = startProgram("otter", named, { ...vendor.env(running.url), ...env }, { home, cwd });
    let stdout = "";
    program.child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    program.child.stdin.end();
    const code = await program.exited;
    return { code, stdout, stderr: program.stderr() };
  };
  expect(await run("what is it?")).toMatchObject({ code: 0, stdout: "A workspace.\n" });
  expect(await run("sure?", "--continue")).toMatchObject({ code: 0, stdout: "Still a workspace.\n" });
  // Where a model wants to be asked is found out once in each process.
  expect(running.refused.filter((words) => !/\/responses|think value/.test(words))).toEqual([]);
  expect(running.left()).toBe(0);
  const back = vendor.repliesIn(running.answered.at(-1)?.body);
  expect(back).toEqual(vendor.sent.slice(0, back.length));
});
