// ferret can do everything that otter can: both built programs are asked, so that neither can lack a part.
import { text } from "node:stream/consumers";
import { routes } from "@chimera/acp-schema/http";
import { otterDialect, standardDialect } from "@chimera/acp-server";
import { expect, test } from "vitest";
import { connect } from "./peer.js";
import { startProgram } from "./program.js";
import { startServer } from "./server.js";

type Name = "otter" | "ferret";
const both = <T>(ask: (name: Name) => Promise<T>) => Promise.all([ask("otter"), ask("ferret")]);

test.each([
  ["native", {}, otterDialect.methodNames],
  ["standard", { protocolVersion: 1, clientCapabilities: {} }, standardDialect.methodNames],
])("capabilities and methods of the %s dialect", async (_dialect, hello, methods) => {
  const [otter, ferret] = await both(async (name) => {
    const peer = connect(startProgram(name, ["serve", "--acp"]));
    const { result } = await peer.request("initialize", hello);
    const { capabilities = {}, agentCapabilities } = result;
    const known: string[] = [];
    for (const method of await methods()) {
      const { error } = await peer.request(method, {});
      if (error?.code !== -32601) known.push(method);
    }
    return { capabilities, agentCapabilities, known };
  });
  expect(otter.known.length).toBeGreaterThan(10);
  expect(ferret.known).toEqual(otter.known);
  expect(ferret.capabilities).toMatchObject(otter.capabilities);
  expect(ferret.agentCapabilities).toMatchObject(otter.agentCapabilities);
});

test("commands with their flags, slash commands, tools and agents", async () => {
  const [otter, ferret] = await both(async (name) => {
    const answers = ["completions bash", "commands", "tools", "agents"].map(async (command) => {
      // In its sandbox ferret offers one tool less: what runs in an editor's terminal cannot be confined.
      const { child } = startProgram(name, command.split(" "), { FERRET_SANDBOX: "off" });
      return text(child.stdout);
    });
    const [completions = "", ...lists] = await Promise.all(answers);
    const words = [...completions.matchAll(/^ {4}(\S+)\) words='([^']*)'/gm)].flatMap(([, command, all = ""]) =>
      all.split(" ").map((word) => `${command} ${word}`),
    );
    return [...words, ...lists.flatMap((list) => list.split("\n").map((line) => line.split(" ", 1)[0]))];
  });
  expect(otter.length).toBeGreaterThan(100);
  expect(ferret).toEqual(expect.arrayContaining(otter));
});

test("in its sandbox ferret lists no tool that cannot be confined", async () => {
  const list = (env: Record<string, string>) => text(startProgram("ferret", ["tools"], env).child.stdout);
  const [confined, free] = await Promise.all([list({}), list({ FERRET_SANDBOX: "off" })]);
  expect(confined).toContain("Bash");
  expect(confined).not.toContain("acp_terminal");
  expect(free).toContain("acp_terminal");
});

test("in its sandbox ferret says of such a tool that allowing it is of no use", async () => {
  const said = (mode: string, tools: string) => {
    const { child } = startProgram("ferret", ["serve", "--sandbox", mode, "--allowed-tools", tools]);
    child.stdin.end();
    return text(child.stderr);
  };
  const [confined, free, other] = await Promise.all([
    said("read-only", "Read,ACP_terminal"),
    said("off", "Read,acp_terminal"),
    said("read-only", "Read"),
  ]);
  expect(confined).toContain("acp_terminal is allowed and not offered");
  expect([free, other].join()).not.toContain("acp_terminal");
});

test("routes", async () => {
  const [otter, ferret] = await both(async (name) => {
    const server = await startServer([], {}, { name });
    // Until then what it answers to `/readyz` is a matter of time.
    await expect.poll(async () => (await server.ask("GET /readyz")).status).toBe(200);
    const answers: [route: string, status: number, error: unknown][] = [];
    for (const route of Object.keys(routes)) {
      // It never ends.
      if (route === "GET /events") continue;
      const [method] = route.split(" ");
      const { status, body } = await server.ask(route.replaceAll(/\{\w+\}/g, "nothing"), {
        ...(method === "POST" && { body: {} }),
      });
      // The errors of ACP are objects, and name the request.
      answers.push([route, status, body?.error?.code ?? body?.error]);
    }
    return answers;
  });
  expect(otter.filter(([, status]) => status < 300).length).toBeGreaterThan(8);
  expect(ferret).toEqual(otter);
});
