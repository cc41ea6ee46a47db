import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fixture } from "./workspace.js";

/** name -> what is there first, what a command does to it. */
const commands: Record<string, { setup: string; command: string }> = {
  "an empty file is filled and a full one emptied": { setup: ": > e; echo x > f", command: "echo x > e; : > f" },
  "binary content": { setup: "head -c 70000 /dev/urandom > bin", command: "head -c 50 /dev/urandom > bin" },
  modes: { setup: "echo x > f; chmod 600 f; mkdir -m 750 d", command: "chmod 4755 f; chmod 700 d" },
  "a file that becomes a directory": { setup: "echo x > t", command: "rm t; mkdir -p t/deep; echo y > t/deep/f" },
  "a directory that becomes a file": {
    setup: "mkdir -p t/deep; echo x > t/deep/f; mkdir t/empty",
    command: "rm -r t; echo y > t",
  },
  "a link that becomes a file, a file that becomes a link": {
    setup: "echo x > f; ln -s f l",
    command: "rm l; echo own > l; rm f; ln -s /etc/passwd f",
  },
  "a link that becomes a directory": {
    setup: "mkdir d; echo x > d/f; ln -s d l",
    command: "rm l; mkdir l; echo y > l/f",
  },
  "a dangling link and a link to a directory outside": {
    setup: "ln -s nowhere a; ln -s ../out b",
    command: "rm a b; ln -s ../out c",
  },
  "a renamed tree": { setup: "mkdir -p a/b; echo 1 > a/b/1; echo 2 > a/2", command: "mv a z" },
  "swapped files": { setup: "echo 1 > a; echo 2 > b", command: "mv a t; mv b a; mv t b" },
  "a deep tree": {
    setup: "p=.; for i in $(seq 60); do p=$p/d$i; done; mkdir -p $p; echo x > $p/f",
    command: "p=.; for i in $(seq 60); do p=$p/d$i; done; echo y > $p/f; rm -r d1/d2/d3",
  },
  "odd names": {
    setup:
      "echo 1 > ' '; echo 1 > 'new\nline'; echo 1 > '-rf'; echo 1 > '*'; echo 1 > 'caf\u00e9 \ud83d\ude00'; echo 1 > __proto__; echo 1 > ..hidden",
    command: "for f in ./* ./..hidden; do echo 2 > \"$f\"; done; echo 2 > '\\back'",
  },
  "names that are not UTF-8": {
    setup:
      "printf 1 > \"$(printf 'a\\377b')\"; mkdir \"$(printf 'd\\200')\"; printf 1 > \"$(printf 'd\\200/x')\"; printf 1 > \"$(printf '\\355\\240\\200')\"",
    command:
      'for f in *; do [ -f "$f" ] && printf 2 > "$f"; done; rm -r "$(printf \'d\\200\')"; printf 3 > "$(printf \'new\\376\')"',
  },
  "names in decomposed and composed form": {
    setup: "printf 1 > \"$(printf 'e\\314\\201')\"; printf 2 > \"$(printf '\\303\\251')\"",
    command: 'for f in *; do printf 9 > "$f"; done',
  },
  "an empty directory": { setup: "mkdir keep gone", command: "rmdir gone; mkdir made" },
  "a hard link": { setup: "echo x > a", command: "ln a b; echo y >> a" },
  "a write through another name": {
    setup: "mkdir d e; echo x > d/a; ln d/a e/b; echo x > c",
    command: "echo y >> e/b; ln c e/c; echo y >> e/c",
  },
  "a link that becomes a second name": {
    setup: "echo x > a; ln -s nowhere b",
    command: "rm b; ln a b; echo y >> b",
  },
  "a directory that becomes a link to one outside with the same names": {
    setup: "mkdir d; echo x > d/canary; echo x > d/other",
    command: "mv d ../away; ln -s ../out d",
  },
  "a directory that is moved, and one that takes its place": {
    setup: "mkdir d e; echo x > d/f; echo y > e/f",
    command: "mv d away; mv e d; echo z >> d/f; mkdir e; echo z > e/f; echo z >> away/f",
  },
  "a directory that is made anew": {
    setup: "mkdir -p d/in; echo x > d/f; echo x > d/in/f",
    command: "rm -r d; mkdir -p d/in; echo y > d/in/f; echo x > d/f; chmod 600 d/f",
  },
  "same size and time": { setup: "echo 1 > a; touch -d 2020-01-01 a", command: "echo 2 > a; touch -d 2020-01-01 a" },
};

/** After a command that takes long every file is looked at, after a short one only where the kernel reported changes. */
const ways = { long: () => Date.now(), short: () => STOPPED };
const STOPPED = Date.now();

const cases = Object.entries(commands).flatMap(([name, given]) =>
  Object.entries(ways).map(([way, clock]) => ({ name: `a ${way} command: ${name}`, clock, ...given })),
);

for (const { name, clock, setup, command } of cases) {
  test(`undo and redo of ${name}`, async () => {
    const f = fixture({ clock });
    execFileSync("sh", ["-c", setup], { cwd: f.ws });
    const before = f.tree();
    await f.shellTurn(0, command);
    const after = f.tree();
    expect(after).not.toEqual(before);
    expect((await f.session.undo()).conflicts).toEqual([]);
    expect(f.tree()).toEqual(before);
    expect((await f.reopened().redo()).conflicts).toEqual([]);
    expect(f.tree()).toEqual(after);
    expect((await f.reopened().undo()).conflicts).toEqual([]);
    expect(f.tree()).toEqual(before);
    expect(readFileSync(join(f.out, "canary"), "utf8")).toBe("canary");
  });
}

test("a file over 25 MiB is skipped and survives, touched or made by a tool or a command", async () => {
  const f = fixture();
  const big = (name: string) => {
    writeFileSync(f.path(name), "");
    truncateSync(f.path(name), 30 * 1024 * 1024);
  };
  big("by-tool");
  big("by-command");
  f.write("grown", "small");
  f.session.beginTurn(0);
  await f.session.willWrite(f.path("by-tool"));
  writeFileSync(f.path("by-tool"), "now small", { flag: "a" });
  await f.session.willWrite(f.path("grown"));
  big("grown");
  const done = await f.session.willRun();
  execFileSync("sh", ["-c", "echo x >> by-command; truncate -s 30M made"], { cwd: f.ws });
  await done();
  const snapshot = await f.session.endTurn();
  const names = ["by-command", "by-tool", "grown", "made"];
  expect(snapshot?.skipped).toEqual(Object.fromEntries(names.map((name) => [f.path(name), "too_large"])));
  const report = await f.session.undo();
  expect(report.files).toEqual(names.map((name) => ({ path: f.path(name), outcome: "skipped", reason: "too_large" })));
  expect(execFileSync("ls", { cwd: f.ws, encoding: "utf8" }).split("\n").filter(Boolean)).toEqual(names);
});

test("a write through a link is undone where it landed; the link stays a link", async () => {
  const f = fixture();
  f.write("real.txt", "0");
  symlinkSync("real.txt", f.path("link"));
  mkdirSync(f.path("dir"));
  symlinkSync("dir", f.path("dirlink"));
  const before = f.tree();
  f.session.beginTurn(0);
  await f.session.willWrite(f.path("link"));
  writeFileSync(f.path("link"), "1");
  await f.session.willWrite(f.path("dirlink/new.txt"));
  writeFileSync(f.path("dirlink/new.txt"), "1");
  const snapshot = await f.session.endTurn();
  expect(snapshot?.files).toEqual([
    { path: f.path("dir/new.txt"), change: "add" },
    { path: f.path("real.txt"), change: "update" },
  ]);
  await f.session.undo();
  expect(f.tree()).toEqual(before);
});

test("a write through links that a command just made, and that lead to nothing yet, is undone where it landed", async () => {
  const f = fixture();
  f.session.beginTurn(0);
  const done = await f.session.willRun();
  symlinkSync("second", f.path("first"));
  symlinkSync("sub/../made.txt", f.path("second"));
  mkdirSync(f.path("sub"));
  await done();
  await f.session.willWrite(f.path("first"));
  writeFileSync(f.path("first"), "1");
  expect(f.read("made.txt")).toBe("1");
  await f.session.endTurn();
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect(f.tree()).toEqual({});
});

test("a file that became a fifo is a conflict, and comes back once the fifo is gone", async () => {
  const f = fixture();
  f.write("a", "0");
  await f.shellTurn(0, "rm a; mkfifo a");
  const { files, conflicts } = await f.session.undo({ force: true });
  expect(files).toEqual([{ path: f.path("a"), outcome: "conflict", reason: "not_a_regular_file" }]);
  expect(conflicts).toEqual([f.path("a")]);
  rmSync(f.path("a"));
  await f.session.redo();
  await f.session.undo();
  expect(f.read("a")).toBe("0");
});

test("a directory whose mode forbids entering it gets its mode back", async () => {
  const f = fixture();
  f.write("d/a", "0");
  await f.shellTurn(0, "echo 1 > d/a; chmod 000 d");
  expect((await f.session.undo()).conflicts).toEqual([]);
  expect(f.tree()["d"]).toBe("dir 755");
});

test("a path that is not a file or lies outside the workspace is skipped with a reason", async () => {
  const f = fixture();
  execFileSync("mkfifo", [f.path("fifo")]);
  symlinkSync("../out/canary", f.path("escape"));
  f.session.beginTurn(0);
  await f.session.willWrite(f.path("fifo"));
  await f.session.willWrite(join(f.out, "canary"));
  await f.session.willWrite(f.path("escape"));
  await f.session.willWrite(join(f.root, "otter-1/history.ndjson"));
  await expect(f.session.willWrite("a\0b")).rejects.toMatchObject({ code: "io" });
  writeFileSync(join(f.out, "canary"), "changed");
  const snapshot = await f.session.endTurn();
  expect(snapshot?.skipped).toEqual({
    [f.path("fifo")]: "not_a_regular_file",
    [join(f.out, "canary")]: "outside_workspace",
    [join(f.root, "otter-1/history.ndjson")]: "own_data",
  });
  await f.session.undo();
  expect(readFileSync(join(f.out, "canary"), "utf8")).toBe("changed");
  rmSync(f.path("fifo"));
});
