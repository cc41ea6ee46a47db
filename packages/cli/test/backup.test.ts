import { existsSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPerson } from "./person.js";

test("a backup made while a session is running is restored completely, without claims and tokens", {
  tags: ["needs-tar"],
}, async () => {
  const person = await createPerson();
  await person.type(["-p", "list files"]);
  await person.type(["token", "add", "ann"]);
  const file = join(person.cwd, "all.tar.gz");
  // Turns run during the backup.
  const [made] = await Promise.all([
    person.type(["backup", file]),
    person.type(["-p", "list files"]),
    person.type(["-p", "list files"]),
  ]);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining(file) });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(await person.type(["backup", file])).toMatchObject({ code: 2 });

  const elsewhere = await createPerson();
  expect(await elsewhere.type(["restore", file])).toMatchObject({ code: 0 });
  const listed = JSON.parse((await elsewhere.type(["sessions", "list", "--json"])).stdout);
  expect(listed.length).toBeGreaterThanOrEqual(1);
  const [{ session_id: id }] = listed;
  expect(await elsewhere.type(["--resume", id, "-p", "list files"])).toMatchObject({ code: 0 });
  expect((await elsewhere.type(["token", "list"])).stdout).toBe("");
  expect(await elsewhere.type(["restore", file])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("not empty"),
  });
});

test("a backup leaves out nothing in silence: sessions in another directory are to be archived with it", async () => {
  const person = await createPerson();
  await person.type(["-p", "list files", "--store", "file:elsewhere"]);
  const file = join(person.cwd, "all.tar.gz");
  expect(await person.type(["backup", file, "--store", "file:elsewhere"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`sessions are in ${join(person.cwd, "elsewhere")}: archive that directory too`),
  });
  expect(existsSync(file)).toBe(false);
});

test("a backup is made with a tar that is not GNU's, too", { tags: ["needs-tar"] }, async () => {
  const person = await createPerson();
  await person.type(["-p", "list files"]);
  const bin = join(person.home, "bin");
  await mkdir(bin);
  const real = person.env["PATH"];
  const other = `#!/bin/sh
case "$*" in
  --version) echo "bsdtar 3.7.4 - libarchive 3.7.4" ;;
  *--warning*) echo "tar: Option --warning=no-file-changed is not supported" >&2; exit 1 ;;
  *) PATH='${real}' exec tar "$@" ;;
esac
`;
  await writeFile(join(bin, "tar"), other, { mode: 0o755 });
  const file = join(person.cwd, "all.tar.gz");
  expect(await person.type(["backup", file], { env: { PATH: `${bin}:${real}` } })).toMatchObject({
    code: 0,
    stderr: "",
  });
  expect(await (await createPerson()).type(["restore", file])).toMatchObject({ code: 0 });
});

test("restore refuses a file that is not a backup, and leaves nothing on the disk", {
  tags: ["needs-tar"],
}, async () => {
  const person = await createPerson();
  await writeFile(join(person.cwd, "no.tar.gz"), "nothing of the kind");
  expect(await person.type(["restore", "no.tar.gz"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("tar failed"),
  });
  expect(await person.type(["restore", "missing.tar.gz"])).toMatchObject({ code: 2 });
  expect(await person.type(["backup", "/nowhere/at/all.tar.gz"])).toMatchObject({ code: 1 });
  expect(existsSync("/nowhere")).toBe(false);
});
