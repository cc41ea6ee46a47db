// Zed's extension: the archives come out the same each time, are what extension.toml says, and start the way Zed starts them.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { crc32, gunzipSync, inflateRawSync } from "node:zlib";
import { client, ndJsonStream } from "@agentclientprotocol/sdk";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { fileScope } from "./program.js";
import { repositoryRoot, runScript, scratchTree } from "./scratch.js";

interface Target {
  readonly archive: string;
  readonly cmd: string;
  readonly args: string[];
  readonly sha256: string;
}

const programs = ["ferret", "otter"] as const;
const atEnd = fileScope();
let out = "";
let extension = "";
const build = (to: string, ...more: string[]) => runScript("zed/build-archives.mjs", "--out", to, ...more);

beforeAll(() => {
  out = scratchTree({}, atEnd);
  expect(build(out, "--extension", join(out, "extension.toml"))).toMatchObject({ code: 0, stderr: "" });
  extension = readFileSync(join(out, "extension.toml"), "utf8");
});

/** The values of one table: strings and lists of strings, which JSON writes as TOML does. */
function table(name: string): Record<string, unknown> {
  const [, body = ""] = extension.split(`\n[${name}]\n`);
  const lines = body.split("\n\n")[0]?.trim().split("\n") ?? [];
  return Object.fromEntries(
    lines.map((line) => {
      const [key = "", value = ""] = line.split(/ = (.*)/);
      return [key, JSON.parse(value)];
    }),
  );
}
const target = (id: string, platform: string) => table(`agent_servers.${id}.targets.${platform}`) as unknown as Target;
const fileOf = ({ archive }: Target) => join(out, archive.split("/").at(-1) ?? "");

test("the extension in the tree is the one that the script writes; a release also holds it to its hashes", () => {
  const committed = join(repositoryRoot, "extension.toml");
  const masked = (text: string) => text.replace(/sha256 = "[0-9a-f]{64}"/g, "sha256");
  expect(masked(readFileSync(committed, "utf8"))).toBe(masked(extension));
  for (const id of programs) {
    const { icon } = table(`agent_servers.${id}`);
    expect(existsSync(join(repositoryRoot, String(icon)))).toBe(true);
  }
  expect(build(out, "--check", "--extension", join(out, "extension.toml"))).toMatchObject({ code: 0 });
  const { sha256 } = target("otter", "linux-x86_64");
  writeFileSync(
    join(out, "other.toml"),
    extension.replaceAll(
      sha256,
      sha256.replace(/^./, (c) => (c === "0" ? "1" : "0")),
    ),
  );
  const { code, stderr } = build(out, "--check", "--extension", join(out, "other.toml"));
  expect(stderr).toContain("does not describe these archives");
  expect(code).toBe(1);
});

test("archives come out the same, are those that are hashed, and an earlier version's are not left beside them", () => {
  const again = scratchTree({ "otter-0.0.9.tar.gz": "old", "otter-notes.txt": "mine" });
  build(again, "--extension", join(again, "extension.toml"));
  const names = readdirSync(again).toSorted();
  expect(names).toEqual([...readdirSync(out).filter((name) => name !== "other.toml"), "otter-notes.txt"].toSorted());
  for (const id of programs) {
    for (const platform of ["darwin-aarch64", "darwin-x86_64", "linux-aarch64", "linux-x86_64", "windows-x86_64"]) {
      const described = target(id, platform);
      const bytes = readFileSync(fileOf(described));
      expect(createHash("sha256").update(bytes).digest("hex")).toBe(described.sha256);
      expect(
        readFileSync(fileOf(described)).equals(readFileSync(join(again, fileOf(described).slice(out.length)))),
      ).toBe(true);
    }
  }
});

test.each(programs)("%s is unpacked and started as Zed does it, in the project's directory", async (id) => {
  const described = target(id, "linux-x86_64");
  const unpacked = scratchTree({});
  for (const { path, mode, bytes } of readTar(gunzipSync(readFileSync(fileOf(described)))))
    write(unpacked, path, bytes, mode);
  const project = scratchTree({ "README.md": "# A project\n" });
  const home = scratchTree({});
  const env = { PATH: process.env["PATH"], HOME: home, CHIMERA_HOME: join(home, "data") };
  const child = spawn(join(unpacked, described.cmd), described.args, {
    cwd: project,
    env: { ...env, ...(table(`agent_servers.${id}.env`) as Record<string, string>) },
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const { agent } = client().connect(
    ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout) as ReadableStream<Uint8Array>),
  );
  const hello = await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  expect(hello).toMatchObject({ protocolVersion: 1, agentInfo: { name: id } });
  const { sessionId } = await agent.request("session/new", { cwd: project, mcpServers: [] });
  expect(sessionId).toMatch(/./);
  child.stdin.end();
  expect((await once(child, "close"))[0]).toBe(0);

  const launcher = join(unpacked, described.cmd);
  const without = spawnSync("/bin/sh", [launcher], { env: { PATH: unpacked }, encoding: "utf8" });
  expect(without.stderr).toMatch(new RegExp(`^${id} needs Node [\\d.]+ or newer on the PATH`));
  expect(without.status).toBe(1);
});

test("the archive for Windows holds the same files and a launcher of its own", () => {
  const windows = readZip(readFileSync(fileOf(target("otter", "windows-x86_64"))));
  const tar = readTar(gunzipSync(readFileSync(fileOf(target("otter", "linux-x86_64")))));
  const others = tar.filter(({ path }) => path !== "otter");
  expect(windows.filter(({ path }) => path !== "otter.cmd").map(({ path }) => path)).toEqual(
    others.map(({ path }) => path),
  );
  for (const { path, bytes } of others)
    expect(windows.find((file) => file.path === path)?.bytes.equals(bytes)).toBe(true);
  expect(String(windows.find(({ path }) => path === "otter.cmd")?.bytes)).toContain('node "%~dp0dist\\cli.js" %*\r\n');
  expect(target("otter", "windows-x86_64").cmd).toBe("./otter.cmd");
});

function write(root: string, path: string, bytes: Buffer, mode: number) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), bytes);
  chmodSync(join(root, path), mode);
}

function readTar(tar: Buffer) {
  const files = [];
  for (let at = 0; tar[at] !== 0; ) {
    const field = (from: number, length: number) =>
      String(tar.subarray(at + from, at + from + length)).split("\0")[0] ?? "";
    const header = Buffer.from(tar.subarray(at, at + 512)).fill(" ", 148, 156);
    expect(header.reduce((sum, byte) => sum + byte, 0)).toBe(Number.parseInt(field(148, 8), 8));
    const size = Number.parseInt(field(124, 12), 8);
    const bytes = tar.subarray(at + 512, at + 512 + size);
    files.push({ path: field(0, 100), mode: Number.parseInt(field(100, 8), 8), bytes });
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** By its directory at the end, as unpackers read it. */
function readZip(zip: Buffer) {
  const end = zip.length - 22;
  expect(zip.readUInt32LE(end)).toBe(0x06054b50);
  let at = zip.readUInt32LE(end + 16);
  return Array.from({ length: zip.readUInt16LE(end + 10) }, () => {
    expect(zip.readUInt32LE(at)).toBe(0x02014b50);
    const [packed, nameLength, local] = [
      zip.readUInt32LE(at + 20),
      zip.readUInt16LE(at + 28),
      zip.readUInt32LE(at + 42),
    ];
    const path = String(zip.subarray(at + 46, at + 46 + nameLength));
    expect(String(zip.subarray(local + 30, local + 30 + nameLength))).toBe(path);
    const bytes = inflateRawSync(zip.subarray(local + 30 + nameLength, local + 30 + nameLength + packed));
    expect(crc32(bytes)).toBe(zip.readUInt32LE(at + 16));
    expect(bytes.length).toBe(zip.readUInt32LE(at + 24));
    at += 46 + nameLength;
    return { path, bytes };
  });
}
