// ferret's native dialect, frame by frame: what it adds to otter's.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { strict } from "@chimera/acp-schema";
import { kinds, SessionNotification } from "@chimera/acp-schema/ferret";
import * as v from "valibot";
import { expect, test } from "vitest";
import { ferretPeer } from "./ferret-peer.js";
import { connect, nativePeer } from "./peer.js";
import { startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

const withGit = { tags: ["needs-git"] };
const confined = { tags: ["needs-sandbox"] };
const AUTO = ["--sandbox", "workspace-write", "--approval", "auto"];
const bash = (command: string) => ({ call: "Bash", args: { command } });
const write = (path: string, content = "new\n") => ({ call: "Write", args: { path, content } });

test("the handshake names version 0.2 and says what an editor can draw", async () => {
  const peer = connect(startProgram("ferret", ["serve"]));
  const { result } = await peer.request("initialize", {});
  expect(result.protocolVersion).toBe("0.2");
  expect(result.capabilities).toMatchObject({
    sandbox: true,
    approval: true,
    streaming: true,
    cancellation: true,
    bridge: true,
  });
});

test("an unknown method is answered with -32601", async () => {
  const peer = await nativePeer("ferret");
  expect((await peer.request("session/dance", {})).error?.code).toBe(-32601);
});

test("setSandbox reads the mode; asking for another is answered with what it takes", async () => {
  const peer = await ferretPeer(["--sandbox", "workspace-write"]);
  expect((await peer.ask("session/setSandbox")).result).toEqual({ mode: "workspace-write" });
  expect((await peer.ask("session/setSandbox", { mode: "off" })).result).toEqual({
    mode: "workspace-write",
    requested: "off",
    restartRequired: true,
    message: "restart required",
  });
  expect((await peer.ask("session/setSandbox")).result).toEqual({ mode: "workspace-write" });
});

test.each([
  ["session/setSandbox", { mode: "open" }],
  ["session/setApproval", { preset: "everything" }],
  ["session/setApproval", {}],
  ["session/setSandbox", { sessionId: "ferret-20200101T000000-00000000" }],
  ["session/setApproval", { sessionId: "../../etc", preset: "auto" }],
])("%s refuses %j", async (method, params) => {
  const peer = await ferretPeer([]);
  expect((await peer.ask(method, params)).error?.code).toBe(-32602);
});

test("setApproval switches the preset while a turn runs: the next call obeys it", confined, async () => {
  const peer = await ferretPeer(
    ["--sandbox", "workspace-write"],
    [[bash("sleep 1 && echo first"), write("made.txt"), bash("touch other.txt")]],
  );
  expect((await peer.ask("session/setApproval", { preset: "full" })).result).toEqual({ old: "read-only", new: "full" });
  const reply = peer.prompt();
  await peer.find(({ params }) => params?.kind === "tool_call_start");
  expect((await peer.ask("session/setApproval", { preset: "read-only" })).result).toEqual({
    old: "full",
    new: "read-only",
  });
  await reply;
  expect(peer.kind("approval_changed").map(({ old, new: now }) => [old, now])).toEqual([
    ["read-only", "full"],
    ["full", "read-only"],
  ]);
  expect(peer.kind("tool_call_end").map(({ success }) => success)).toEqual([true, false, false]);
});

test("every kind carries its payload, and otter's update beside it", confined, async () => {
  const peer = await ferretPeer(AUTO, [
    [
      { call: "Read", args: { path: "README.md", offset: 1 } },
      { call: "Edit", args: { path: "README.md", old_string: "workspace", new_string: "place" } },
      bash("echo out; echo err >&2"),
      write("/srv/outside.txt"),
      bash("git push origin main"),
    ],
  ]);
  const reply = peer.prompt();
  const request = await peer.find(({ params }) => params?.kind === "permission_request");
  expect((await peer.ask("permission/respond", { id: request.params.id, decision: "deny" })).result).toEqual({
    ok: true,
  });
  expect((await reply).result).toMatchObject({ stopReason: "end_turn" });
  await peer.ask("session/setApproval", { preset: "full" });
  await peer.find(({ params }) => params?.kind === "notice");

  const updates = peer.frames.filter(({ method }) => method === "session/update").map(({ params }) => params);
  for (const params of updates) {
    const parsed = v.safeParse(strict(SessionNotification), params);
    expect(parsed.issues, JSON.stringify(params)).toBeUndefined();
  }
  expect(new Set(updates.map(({ kind }) => kind))).toEqual(new Set(Object.keys(kinds)));
  expect(updates.map(({ eventId }) => eventId)).toEqual(updates.map((_, index) => index + 1));

  const readme = join(peer.program.cwd, "README.md");
  expect(peer.kind("file_open")).toEqual([expect.objectContaining({ path: readme, line: 1 })]);
  expect(peer.kind("tool_call_progress").map(({ stdout, stderr }) => stdout ?? stderr)).toEqual(
    expect.arrayContaining(["out\n", "err\n"]),
  );
  expect(peer.kind("permission_request")).toEqual([
    expect.objectContaining({ tool: "Bash", args: { command: "git push origin main" }, risk: "medium" }),
  ]);
  expect(peer.kind("sandbox_violation")).toEqual([
    expect.objectContaining({ tool: "Write", path: "/srv/outside.txt", mode: "workspace-write" }),
  ]);
  expect(peer.kind("cost_update").at(-1)).toMatchObject({ input: expect.any(Number), total_usd: expect.any(Number) });
  expect(peer.kind("turn_end")).toEqual([expect.objectContaining({ id: "msg-0", stop_reason: "end_turn" })]);
});

test("the diff of a file_edit applies to the old file and reverts the new one", withGit, async () => {
  const peer = await ferretPeer(AUTO, [
    [
      { call: "Edit", args: { path: "README.md", old_string: "workspace", new_string: "place" } },
      write("deep/new.txt", "one\ntwo"),
    ],
  ]);
  const original = readFileSync(join(peer.program.cwd, "README.md"), "utf8");
  await peer.prompt();
  const edits = peer.kind("file_edit");
  expect(edits.map(({ change }) => change)).toEqual(["update", "add"]);
  mkdirSync(join(peer.program.cwd, "elsewhere"));
  const patch = join(peer.program.cwd, "elsewhere", "edits.patch");
  writeFileSync(patch, edits.map(({ diff }) => diff).join(""));
  const run = (...args: string[]) => execFileSync("git", ["apply", "-p0", ...args, patch], { cwd: peer.program.cwd });
  run("-R");
  expect(readFileSync(join(peer.program.cwd, "README.md"), "utf8")).toBe(original);
  run();
  expect(readFileSync(join(peer.program.cwd, "README.md"), "utf8")).toBe(original.replace("workspace", "place"));
  expect(readFileSync(join(peer.program.cwd, "deep/new.txt"), "utf8")).toBe("one\ntwo");
});

test("always and never are remembered by the words of a command, and audited", confined, async () => {
  const calls = [bash("touch yes.txt"), bash("touch no.txt")];
  const home = scratchTree({});
  const peer = await ferretPeer(AUTO, [calls, [bash("touch  yes.txt "), calls[1]!, bash("touch yes.txt no.txt")]], {
    CHIMERA_HOME: home,
  });
  const answers = async (...decisions: string[]) => {
    for (const decision of decisions) {
      const seen = peer.kind("permission_request").length;
      await peer.find(() => peer.kind("permission_request").length > seen);
      const { id } = peer.kind("permission_request").at(-1);
      await peer.ask("permission/respond", { id, decision });
    }
  };
  await Promise.all([peer.prompt(), answers("always", "never")]);
  await Promise.all([peer.prompt(), answers("deny")]);
  expect(peer.kind("tool_call_end").map(({ success }) => success)).toEqual([true, false, true, false, false]);
  expect(peer.kind("permission_request")).toHaveLength(3);
  const audit = readdirSync(join(home, "audit"), { recursive: true, encoding: "utf8" }).map((name) =>
    join(home, "audit", name),
  );
  const lines = audit.filter((path) => statSync(path).isFile()).map((path) => readFileSync(path, "utf8"));
  expect(lines.join("").match(/"rule":"remembered"/g)).toHaveLength(2);
});

test("answering twice, or something else, is the caller's fault", confined, async () => {
  const peer = await ferretPeer(AUTO, [[bash("touch a.txt")]]);
  const reply = peer.prompt();
  const { params } = await peer.find((frame) => frame.params?.kind === "permission_request");
  expect((await peer.ask("permission/respond", { id: params.id, decision: "perhaps" })).error?.code).toBe(-32602);
  expect((await peer.ask("permission/respond", { id: params.id, decision: "allow" })).result).toEqual({ ok: true });
  expect((await peer.ask("permission/respond", { id: params.id, decision: "allow" })).error?.code).toBe(-32602);
  await reply;
  expect(peer.kind("tool_call_end")).toEqual([expect.objectContaining({ success: true })]);
});

test("slash commands show and switch what an editor shows and switches", async () => {
  const peer = await ferretPeer(["--sandbox", "workspace-write"], [[write("a.txt", "hello\n")]]);
  expect((await peer.prompt("/sandbox")).result.output).toContain("workspace-write");
  expect((await peer.prompt("/approval full")).result.output).toContain("read-only -> full");
  expect((await peer.prompt("/approval sometimes")).result.output).toContain("read-only, auto, full");
  await peer.prompt();
  expect((await peer.prompt("/diff")).result.output).toContain("+hello");
});
