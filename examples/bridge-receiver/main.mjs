// Checks the receiver by itself: a wrong token, a wrong key, a conversation over the page's WebSocket, and a receiver that is
// killed ten times in mid-stream. The exit code is the verdict.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { WebSocket } from "ws";
import { countingAgent, startDemoProgram } from "./demo-program.mjs";
import { startReceiver } from "./receiver.mjs";

const token = "token-of-this-check";

await checkConversation();
await checkKillings();
console.log("the receiver does what it says");

async function checkConversation() {
  const receiver = await startReceiver({ token });
  const stranger = await startDemoProgram({ remoteUrl: receiver.url, token: "wrong" });
  assert.equal((await stranger.exit).code, 2);
  await stranger.stop();

  const program = await startDemoProgram({ remoteUrl: receiver.url, token });
  await until(() => program.bridge.status().state === "connected");
  const { uiUrl } = program.bridge.status();
  assert.match(await (await fetch(uiUrl)).text(), /<textarea/);
  assert.equal((await fetch(`${receiver.url}/api/sessions`, { method: "POST", body: "{}" })).status, 401);

  const intruder = watch(`${uiUrl}x`);
  const [code] = await once(intruder.socket, "close");
  assert.equal(code, 4401);
  await checkRubbish(receiver.url);

  const page = watch(uiUrl);
  await until(() => page.state?.attached);
  page.say({ type: "prompt", text: "water the garden" });
  await until(() => page.questions.size === 1);
  const [question] = page.questions.values();
  assert.equal(question.toolCall.rawInput.command, "git push origin main");
  page.say({ type: "answer", id: question.id, optionId: "allow_once" });
  await until(() => page.text.endsWith("Everything is watered.") && page.state.running === false);
  assert.equal(page.questions.size, 0);
  assert.deepEqual(page.entries[0].update.content, { type: "text", text: "water the garden" });
  assert.equal(page.entries[0].origin, "bridge");

  page.say({ type: "prompt", text: "/approval full" });
  await until(() => page.problems.length === 1);
  assert.match(page.problems[0], /refused for a remote/);

  await program.stop();
  await until(() => page.ended);
  page.socket.close();
  await receiver.close();
}

/** Requests that nobody sane sends; what follows shows that the receiver outlived them. */
async function checkRubbish(url) {
  const authorization = `Bearer ${token}`;
  for (const body of ["", "null", "[]", "{", '{"session_id":"../x"}', "x".repeat(100_000)]) {
    const { status } = await fetch(`${url}/api/sessions`, { method: "POST", headers: { authorization }, body });
    assert.ok(status >= 400 && status < 500, `${body.slice(0, 20)} was answered ${status}`);
  }
  const { hostname, port } = new URL(url);
  for (const path of [
    "//",
    "/ws",
    "/ws/%",
    "/watch/__proto__",
    "/s/../../etc/passwd",
    "*",
    "/page/..%2freceiver.mjs",
  ]) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`);
    socket.write("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n");
    const [answer] = await once(socket, "data");
    assert.match(String(answer), /^HTTP\/1.1 4/);
    socket.destroy();
  }
}

async function checkKillings() {
  let more = true;
  let receiver = await spawnReceiver(0);
  const agent = countingAgent(() => more);
  const program = await startDemoProgram({ remoteUrl: receiver.url, token, agent });
  await until(() => program.bridge.status().uiUrl);
  const { uiUrl } = program.bridge.status();
  const page = watch(uiUrl, { again: true });
  await until(() => page.state?.attached);
  program.session.prompt({ text: "count" });
  for (let killing = 0; killing < 10; killing++) {
    const { length } = page.entries;
    await until(() => page.entries.length > length);
    receiver.child.kill("SIGKILL");
    await once(receiver.child, "exit");
    receiver = await spawnReceiver(receiver.port);
  }
  more = false;
  await program.session.idle();
  const said = program.session.conversation.turns[0].result.output;
  await until(() => page.text === said);
  assert.ok(page.kills >= 10);
  page.leave();
  await program.stop();
  receiver.child.kill();
}

/** What the page does, without the page. */
function watch(uiUrl, { again = false } = {}) {
  const { origin, pathname, hash } = new URL(uiUrl);
  const page = {
    entries: [],
    questions: new Map(),
    problems: [],
    text: "",
    kills: 0,
    say: (message) => page.socket.send(JSON.stringify(message)),
    leave() {
      again = false;
      page.socket.close();
    },
  };
  const hear = {
    state: (state) => {
      page.state = state;
    },
    entry: ({ entry }) => {
      page.entries.push(entry);
      if (entry.update.sessionUpdate === "agent_message_chunk") page.text += entry.update.content.text;
    },
    question: ({ question }) => page.questions.set(question.id, question),
    settled: ({ id }) => page.questions.delete(id),
    problem: ({ text }) => page.problems.push(text),
    ended: () => {
      page.ended = true;
    },
  };
  const open = () => {
    const since = page.entries.at(-1)?.eventId ?? 0;
    page.socket = new WebSocket(`${origin.replace(/^http/, "ws")}/watch/${pathname.split("/").at(-1)}`);
    page.socket.on("open", () => page.say({ key: hash.slice(1), since }));
    page.socket.on("message", (data) => {
      const message = JSON.parse(data);
      hear[message.type](message);
    });
    page.socket.on("error", () => {});
    page.socket.on("close", () => {
      page.kills++;
      if (again) setTimeout(open, 20);
    });
  };
  open();
  return page;
}

async function spawnReceiver(port) {
  const env = { PATH: process.env.PATH, RECEIVER_TOKEN: token, PORT: String(port) };
  const child = spawn(process.execPath, [new URL("start.mjs", import.meta.url).pathname], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(child.stdout, "data");
  const url = String(line).trim().split(" ").at(-1);
  return { child, url, port: Number(new URL(url).port) };
}

async function until(condition) {
  const deadline = Date.now() + 30_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited too long for ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
