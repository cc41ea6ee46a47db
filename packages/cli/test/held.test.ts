/** Commands on a session that a running server holds go to that server. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createServer, followSession } from "../src/client/remote.js";
import { createPerson, type Person, serve, TOKEN } from "./person.js";

/** Runs a turn that changes a file on a server, which keeps the session open. */
async function openThere(person: Person): Promise<{ id: string; url: string; file: () => Promise<string> }> {
  const path = join(person.cwd, "a.txt");
  await writeFile(path, "before\n");
  const rules = { version: 1, default: "allow", rules: [{ tool: "*", action: "allow" }] };
  const model = await person.script([
    {
      steps: [
        { reply: [{ call: "write_file", args: { path: "a.txt", content: "after\n" } }] },
        { reply: [{ text: "written" }] },
      ],
    },
    { steps: [{ reply: [{ text: "the second answer" }] }] },
  ]);
  const url = `http://127.0.0.1:${await serve(person, model)}`;
  await writeFile(join(person.home, ".chimera", "permissions.json"), JSON.stringify(rules));
  const { stdout } = await person.type(["attach", url], { input: "first\n", env: TOKEN });
  return {
    id: /otter-\d{8}T\d{6}-[0-9a-f]{8}/.exec(stdout)?.[0] ?? "",
    url,
    file: () => readFile(path, "utf8"),
  };
}

test("undo and redo, a prompt and a conversation reach it there", async () => {
  const person = await createPerson();
  const { id, url, file } = await openThere(person);
  const type = (args: string[], input = "") => person.type(args, { input, env: TOKEN });
  expect(await file()).toBe("after\n");
  expect(await type(["undo", "--dry-run"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^otter-\S+: would undo 1 turn \(0 remaining\); nothing is changed yet\n {2}would be restored {2}.*a\.txt\n$/,
    ),
  });
  expect(await file()).toBe("after\n");
  expect(await type(["undo", id])).toMatchObject({
    code: 0,
    stderr: "",
    stdout: expect.stringMatching(
      /^otter-\S+: rewound 1 turn, 1 file restored \(0 remaining\)\n {2}restored .*a\.txt\n$/,
    ),
  });
  expect(await file()).toBe("before\n");
  const redone = await type(["redo", id, "--json"]);
  expect(JSON.parse(redone.stdout)).toMatchObject({ session_id: id, turns: 1, remaining: 0 });
  expect(await file()).toBe("after\n");
  expect(await type(["-p", "second", "-c"])).toMatchObject({ code: 0, stdout: "the second answer\n" });
  const talk = await type(["--resume", id], "/undo 2\n");
  expect(talk.stdout).toContain(`at ${url}`);
  expect(talk.stdout).toContain("/undo: rewound 2 turns, 1 file restored (0 remaining)");
  expect(await file()).toBe("before\n");
});

test("a new title is set at the server, and every list has it at once", async () => {
  const person = await createPerson();
  const { id } = await openThere(person);
  const type = (args: string[], input = "") => person.type(args, { input, env: TOKEN });
  const renamed = await type(["sessions", "rename", id, "a", "title"]);
  expect(renamed).toEqual({ code: 0, stdout: `${id} is now called a title\n`, stderr: "" });
  await expect.poll(async () => (await type(["sessions", "list"])).stdout).toContain("a title");
  expect(await type(["-p", "second", "--resume", id, "--title", "another", "--model", "offline"])).toMatchObject({
    code: 0,
    stdout: "the second answer\n",
    stderr: expect.stringContaining("keeps its model; /model switches it"),
  });
  expect(JSON.parse((await type(["sessions", "show", id, "--json"])).stdout)).toMatchObject({
    summary: { title: "another" },
  });
});

test("without the server's token, one line gives the remedy", async () => {
  const person = await createPerson();
  const { id, url } = await openThere(person);
  const refused = await person.type(["undo", id]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(
    new RegExp(`^otter undo: ${url} refuses the token: .*; set OTTER_SERVER_TOKEN to the server's\n$`),
  );
});

test("a client with a short patience ends with an error when its server does not come back", async () => {
  const said: string[] = [];
  const following = followSession(createServer("http://127.0.0.1:9", undefined), "otter-20260425T120300-aaaa1111", {
    from: 0,
    signal: new AbortController().signal,
    patienceMs: 300,
    onRecord() {},
    onNotice: (text) => said.push(text),
  });
  await expect(following).rejects.toMatchObject({ code: "unreachable", message: /cannot reach http:/ });
  expect(said).toEqual([expect.stringMatching(/^connection lost/)]);
});
