/** Attaching to a running server through pipes: every client gets the same stream, across lost connections. */
import { chmod, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createPerson, ended, serve, TOKEN } from "./person.js";

/** A proxy that cuts each connection after a number of bytes of the reply. */
async function cuttingProxy(target: number, bytes: number): Promise<{ port: number; cuts: () => number }> {
  let cuts = 0;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(target, "127.0.0.1");
    let left = bytes;
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        client.destroy();
        server.destroy();
      });
    }
    client.pipe(server);
    server.on("data", (chunk) => {
      client.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left > 0) return;
      cuts++;
      client.end();
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return { port: (proxy.address() as { port: number }).port, cuts: () => cuts };
}

const numbers = Array.from({ length: 60 }, (_, n) => `line ${n} of a long answer`);

test("sends prompts and prints the log; a second client joins and sees the past", async () => {
  const person = await createPerson();
  const model = await person.script([
    { steps: [{ reply: [{ text: "first answer" }] }] },
    { steps: [{ reply: [{ text: "second answer" }] }] },
  ]);
  const url = `http://127.0.0.1:${await serve(person, model)}`;
  const one = await person.type(["attach", url], { input: "one\n/cost\n", env: TOKEN });
  expect(one).toMatchObject({ code: 0, stderr: "" });
  expect(one.stdout).toMatch(/first answer\n[\s\S]*no tokens used yet\n/);
  const id = /otter-\d{8}T\d{6}-[0-9a-f]{8}/.exec(one.stdout)?.[0] ?? "";
  const two = await person.type(["attach", url, id], { input: "two\n", env: TOKEN });
  expect(two.stdout).toMatch(/> one\nfirst answer\n[\s\S]*second answer\n/);
});

test("a new session opens with the mode and the agent that are typed; one that is joined keeps its own, and says so", async () => {
  const person = await createPerson();
  const url = `http://127.0.0.1:${await serve(person, await person.script([{ steps: [{ reply: [{ text: "hi" }] }] }]))}`;
  const typed = ["attach", url, "--mode", "read-only", "--agent", "plan"];
  const made = await person.type(typed, { input: "hello\n", env: TOKEN });
  expect(made).toMatchObject({ code: 0, stderr: "" });
  const id = /otter-\d{8}T\d{6}-[0-9a-f]{8}/.exec(made.stdout)?.[0] ?? "";
  const headers = { authorization: `Bearer ${TOKEN.OTTER_SERVER_TOKEN}` };
  const reply = await fetch(`${url}/sessions/${id}/settings`, { headers });
  expect(await reply.json()).toMatchObject({ mode: "read-only", agent: "plan" });
  const joined = await person.type(["attach", url, "--mode", "auto"], { env: TOKEN });
  expect(joined.stderr).toBe(`[otter] the session is open at ${url} and keeps its mode; /mode switches it\n`);
  expect(await person.type(["attach", url, "--mode", "fast"], { env: TOKEN })).toMatchObject({ code: 2 });
});

test("repeated cuts of the connection lose nothing and repeat nothing", async () => {
  const person = await createPerson();
  const model = await person.script([
    { steps: [{ reply: [{ text: `${numbers.join("\n")}\n`, chunks: 60, delayMs: 15 }] }] },
  ]);
  const proxy = await cuttingProxy(await serve(person, model), 2500);
  const { code, stdout } = await person.type(["attach", `http://127.0.0.1:${proxy.port}`], {
    input: "go\n",
    env: TOKEN,
  });
  expect(code).toBe(0);
  expect(stdout.split("\n").filter((line) => line.startsWith("line "))).toEqual(numbers);
  expect(proxy.cuts()).toBeGreaterThan(1);
});

test("each failure is one line", async () => {
  const person = await createPerson();
  const port = await serve(person, "offline");
  const url = `http://127.0.0.1:${port}`;
  const loose = join(person.home, "token");
  await writeFile(loose, "correct-horse-battery\n");
  await chmod(loose, 0o644);
  const attempts: [string[], number, string, NodeJS.ProcessEnv?][] = [
    [["attach"], 2, "name a server"],
    [["attach", "ftp://x"], 2, "is not the address of a server"],
    [["attach", "http://me:secret@127.0.0.1"], 2, "is not the address of a server"],
    [["attach", "http://127.0.0.1:1"], 1, "cannot reach"],
    [["attach", url], 1, "refuses the token"],
    [["attach", url, "otter-20200101T000000-00000000"], 2, "no session", TOKEN],
    [["attach", url, "--auth-token-file", loose], 2, "chmod 600"],
  ];
  for (const [args, code, message, env] of attempts) {
    const run = await person.type(args, env ? { env } : {});
    expect(run, args.join(" ")).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(message) });
    expect(run.stderr.trimEnd().split("\n")).toHaveLength(1);
  }
  await chmod(loose, 0o600);
  const child = person.start(["attach", url, "--auth-token-file", loose]);
  child.stdin.end("/exit\n");
  expect(await ended(child)).toMatchObject({ code: 0 });
});
