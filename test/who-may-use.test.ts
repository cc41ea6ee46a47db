// Who may use a server: its own user where no token is set, callers with the token it made, and no command that it runs.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { startEditor } from "./editor.js";
import { type Program, startProgram } from "./program.js";
import { repositoryRoot, scratchTree } from "./scratch.js";
import { startServer, until } from "./server.js";

const portOf = (address: string) => Number(new URL(address).port);

describe("without a token", { tags: ["needs-linux"] }, () => {
  test("the own user may call, by each kind of socket", async () => {
    const server = await startServer();
    const port = portOf(server.address);
    expect((await server.ask("POST /session", { body: {} })).status).toBe(201);
    // A socket of IPv6 that carries IPv4 is listed elsewhere.
    const script = `require("http").get({host:"::ffff:127.0.0.1",port:${port},path:"/info",agent:false,headers:{host:"localhost"}},r=>console.log(r.resume().statusCode))`;
    const mapped = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
    expect(mapped.stdout.trim()).toBe("200");
  });

  test("another user may not, whatever the route, and the own user may", { tags: ["needs-root"] }, async () => {
    const server = await startServer();
    const as = (uid: number, port: number) =>
      spawnSync(
        process.execPath,
        [
          "-e",
          `process.setgid(${uid});process.setuid(${uid});Promise.all(["/health","/info","/sessions","/nothing"].map(p=>fetch("http://127.0.0.1:${port}"+p).then(r=>r.status))).then(s=>console.log(s.join()))`,
        ],
        { encoding: "utf8" },
      ).stdout.trim();
    expect(as(65534, portOf(server.address))).toBe("200,401,401,401");
    expect(as(0, portOf(server.address))).toBe("200,200,200,404");
  });
});

describe("--auth-token auto", () => {
  test("makes a token that the user's own commands find, in a file that goes with the server", async () => {
    const server = await startServer(["--auth-token", "auto"]);
    const { home, cwd } = server.program;
    const file = join(home, "run", `otter-${portOf(server.address)}.token`);
    expect(server.program.stderr()).toContain(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const token = readFileSync(file, "utf8").trim();
    expect((await server.ask("GET /info")).status).toBe(401);
    expect((await server.ask("GET /info", { token: "auto" })).status).toBe(401);
    const made = await server.ask("POST /sessions", { token, body: { prompt: "hello" } });
    expect(made.status).toBe(201);
    const id = made.body.session_id;
    await server.all(`/sessions/${id}/events`, { token });
    const cli = (...args: string[]) =>
      spawnSync(process.execPath, [join(repositoryRoot, "apps/otter/dist/cli.js"), ...args], {
        cwd,
        env: { PATH: process.env["PATH"], HOME: cwd, CHIMERA_HOME: home },
        input: "",
        encoding: "utf8",
      });
    expect(cli("attach", server.address, id)).toMatchObject({ status: 0 });
    expect(cli("undo", id).stderr).not.toContain("token");
    server.program.child.kill("SIGTERM");
    await server.program.exited;
    expect(existsSync(file)).toBe(false);
  });

  test("is sent to no other machine, and to no other port", async () => {
    const home = scratchTree({ "run/otter-1.token": "stale" });
    const sent: string[] = [];
    const listener = createServer((socket) => socket.on("data", (data) => sent.push(String(data)) && socket.end()));
    onTestFinished(() => void listener.close());
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as { port: number };
    const program = startProgram("otter", ["attach", `http://127.0.0.1:${port}`], {}, { home });
    await program.exited;
    expect(sent.join("")).toContain("GET ");
    expect(sent.join("")).not.toMatch(/authorization/i);
  });
});

describe("what a command can read of the program that runs it", { tags: ["needs-linux"] }, () => {
  const secrets = {
    OTTER_SERVER_TOKEN: "master-token-1",
    OPENAI_API_KEY: "key-1",
    DATABASE: "postgres://me:pw-1@db/x",
  };
  const hidden = /master-token-1|key-1|pw-1|typed-token-1/;
  const seen = ({ child: { pid } }: Program) =>
    readFileSync(`/proc/${pid}/environ`, "latin1") + readFileSync(`/proc/${pid}/cmdline`, "latin1");

  test("holds no token, key or password, from the environment or the command line", async () => {
    const byVariable = await startServer(["--model", "offline"], secrets);
    expect((await byVariable.ask("GET /info", { token: "master-token-1" })).status).toBe(200);
    expect(seen(byVariable.program)).toContain("OTTER_SERVER_TOKEN=xxx");
    expect(seen(byVariable.program)).not.toMatch(hidden);
    const byFlag = await startServer(["--auth-token", "typed-token-1"]);
    expect((await byFlag.ask("GET /info", { token: "typed-token-1" })).status).toBe(200);
    expect(seen(byFlag.program)).not.toMatch(hidden);
  });

  test("also when a session's own token approves it", async () => {
    const server = await startServer(["--model", "offline"], secrets);
    const { body } = await server.ask("POST /session", { token: "master-token-1", body: {} });
    const own = { token: body.session_token as string };
    const prompt = "run `cat /proc/$PPID/environ /proc/[0-9]*/environ /proc/$PPID/cmdline | tr '\\0' '\\n'; env`";
    await server.ask(`POST /sessions/${body.session_id}/turns`, { ...own, body: { prompt } });
    const path = `/sessions/${body.session_id}/events`;
    const asked = (await until(server.frames(path, own), ({ event }) => event === "permission_request")).at(-1)!;
    const answer = `POST /sessions/${body.session_id}/permissions/${asked.data.metadata.permission_id}`;
    expect((await server.ask(answer, { ...own, body: { decision: "allow" } })).status).toBe(200);
    const frames = await server.all(path, own);
    const result = frames.find(({ event }) => event === "tool_result");
    expect(result?.data.metadata.output).toContain("OTTER_SERVER_TOKEN=xxx");
    expect(result?.data.metadata.output).not.toMatch(hidden);
  });
});

describe("a confined command with a network", { tags: ["needs-sandbox"] }, () => {
  test.each(["made", "given"])(
    "cannot use the server that runs it: it cannot read a token that was %s",
    async (kind) => {
      // A command has a /tmp of its own, and would find nothing there anyway.
      const place = mkdtempSync(join(process.getuid?.() === 0 ? "/srv" : homedir(), "ferret-token-"));
      onTestFinished(() => rmSync(place, { recursive: true, force: true }));
      writeFileSync(join(place, "token"), "given-token-1\n", { mode: 0o600 });
      writeFileSync(join(place, "plain"), "anybody may read this");
      const home = join(place, "home");
      const args = ["--sandbox", "workspace-write-network", "--approval", "full", "--model", "offline"];
      const token = kind === "made" ? [] : ["--auth-token-file", join(place, "token")];
      const server = await startServer([...args, ...token], {}, { name: "ferret", home });
      const file = kind === "made" ? join(home, "run", `ferret-${portOf(server.address)}.token`) : join(place, "token");
      expect(server.program.stderr().includes("requests must carry a token")).toBe(kind === "made");
      const secret = { token: readFileSync(file, "utf8").trim() };
      const script = `
      for (const name of ${JSON.stringify([file, join(place, "plain")])})
        try { console.log(require("fs").readFileSync(name, "utf8")) } catch {}
      fetch("${server.address}/session", { method: "POST", headers: { "content-type": "application/json" }, body: "{}" })
        .then((reply) => console.log("STATUS", reply.status), (error) => console.log(error.cause));`;
      writeFileSync(join(server.program.cwd, "try.js"), script);
      const prompt = `run \`${process.execPath} try.js\``;
      const made = await server.ask("POST /sessions", { ...secret, body: { prompt } });
      const frames = await server.all(`/sessions/${made.body.session_id}/events`, secret);
      const output = frames.find(({ event }) => event === "tool_result")?.data.metadata.output;
      expect(output).toContain("STATUS 401");
      expect(output).toContain("anybody may read this");
      expect(output).not.toContain(secret.token);
    },
  );
});

describe("--workspace-root", () => {
  test("refuses every other directory, on each way in", async () => {
    const outside = scratchTree({});
    const root = scratchTree({ "inside/a.txt": "a\n" });
    symlinkSync(outside, join(root, "link"));
    mkdirSync(join(root, "inside-2"));
    const home = scratchTree({});
    const before = await startServer([], {}, { home, cwd: outside });
    const stored = (await before.run("hello")).id;
    before.program.child.kill("SIGTERM");
    await before.program.exited;

    const inside = join(root, "inside");
    const args = ["--workspace-root", inside, "--workspace-root", join(root, "inside-2")];
    const server = await startServer(args, {}, { home, cwd: inside });
    const create = (cwd: string) => server.ask("POST /sessions", { body: { prompt: "hello", cwd } });
    expect((await create(inside)).status).toBe(201);
    for (const cwd of [outside, root, join(root, "link"), `${inside}/../link`, "/"]) {
      expect(await create(cwd), cwd).toMatchObject({ status: 403, body: { error: "forbidden_directory" } });
      const alias = await server.ask("POST /session", { body: { working_dir: cwd } });
      expect(alias.status, cwd).toBe(403);
    }
    expect((await server.ask(`POST /sessions/${stored}/turns`, { body: { prompt: "x" } })).status).toBe(403);
    expect((await server.ask(`POST /sessions/${stored}/fork`, { body: {} })).status).toBe(403);

    const editor = await startEditor({ args, home, cwd: inside });
    const refused = await editor.request("session/new", { cwd: outside, mcpServers: [] });
    expect(refused.error?.code).toBe(-32602);
    const beside = { cwd: inside, mcpServers: [], additionalDirectories: [outside] };
    expect((await editor.request("session/new", beside)).error?.code).toBe(-32602);

    const missing = startProgram("otter", ["serve", "--port", "0", "--workspace-root", join(root, "none")]);
    expect(await missing.exited).toBe(2);
  });
});
