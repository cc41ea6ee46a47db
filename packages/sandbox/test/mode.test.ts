import { expect, test } from "vitest";
import { isSandboxError, parseSandboxMode } from "../src/index.js";

test.each([
  ["read-only", "read-only"],
  ["read_only", "read-only"],
  [" Workspace_Write ", "workspace-write"],
  ["workspace_write_network", "workspace-write-network"],
  ["off", "off"],
])("%s is %s", (text, mode) => {
  expect(parseSandboxMode(text)).toBe(mode);
});

test.each(["", "full", "__proto__", "constructor", "read only", "offf"])("%j is refused with the list", (text) => {
  let thrown: unknown;
  try {
    parseSandboxMode(text);
  } catch (error) {
    thrown = error;
  }
  expect(isSandboxError(thrown) && thrown.code).toBe("invalid_mode");
  expect(isSandboxError(thrown) && thrown.hint).toContain("workspace-write-network");
});
