import { expect, test } from "vitest";
import { runScript, runScriptWith } from "./scratch.js";

test("an unknown job is refused with the choices", () => {
  expect(runScript("bootstrap.mjs", "deploy")).toEqual({
    code: 2,
    stdout: "",
    stderr: "unknown job deploy: one of build, start, test, test-changed, bench\n",
  });
});

test("a Node that is too old is refused, with the version that is needed", () => {
  const pretend = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.18.3'})";
  const { code, stdout, stderr } = runScriptWith({ NODE_OPTIONS: `--import "${pretend}"` }, "bootstrap.mjs", "start");
  expect(stderr).toContain("needs Node 20.19 or newer");
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
});
