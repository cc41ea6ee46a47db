// One process, two transports: a prompt sent over HTTP appears in the editor, and the other way round.
import { expect, onTestFinished, test } from "vitest";
import { launch, openSession, textPrompt, updateKind } from "./clients/editor.js";

const script = {
  repeat: true,
  turns: [
    { steps: [{ reply: [{ text: "First answer." }] }] },
    { steps: [{ reply: [{ text: "Second answer." }] }] },
    {
      steps: [
        { reply: [{ call: "Bash", args: { command: "touch permitted; echo permitted" } }] },
        { reply: [{ text: "Third answer." }] },
      ],
    },
  ],
};

async function both() {
  const editor = launch("otter", { script, args: ["--http", "--port", "0"], command: "serve" });
  onTestFinished(() => editor.dispose());
  const sessionId = await openSession(editor);
  for (let i = 0; i < 200 && !/http:\S+/.test(editor.stderr()); i++) await new Promise((r) => setTimeout(r, 20));
  const address = /http:\/\/[^\s]+/.exec(editor.stderr())![0];
  const post = (path: string, body: object) =>
    fetch(`${address}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return { editor, sessionId, address, post };
}

test("a prompt over HTTP is shown in the editor, with its answer; the editor's is in the event stream", async () => {
  const { editor, sessionId, address, post } = await both();
  await editor.request("session/prompt", textPrompt(sessionId, "from the editor"));
  expect((await post(`/sessions/${sessionId}/turns`, { prompt: "from the web" })).status).toBe(202);
  await editor.find((frame) => frame.params?.update?.content?.text === "Second answer.");
  const shown = editor.frames.filter((frame) => updateKind(frame) === "user_message_chunk");
  expect(shown.map((frame) => frame.params.update.content.text)).toEqual(["from the web"]);
  const events = await fetch(`${address}/sessions/${sessionId}/events`).then((response) => response.text());
  for (const text of ["from the editor", "First answer.", "from the web", "Second answer."])
    expect(events).toContain(text);
  expect(editor.problems()).toEqual([]);
});

test("a permission answered over HTTP is withdrawn in the editor, and the turn continues", async () => {
  const { editor, sessionId, address, post } = await both();
  await editor.request("session/prompt", textPrompt(sessionId, "one"));
  await editor.request("session/prompt", textPrompt(sessionId, "two"));
  const reply = editor.start("session/prompt", textPrompt(sessionId, "three"));
  const asked = await editor.find((frame) => frame.method === "session/request_permission");
  const events = await fetch(`${address}/sessions/${sessionId}`).then((response) => response.json());
  const request = (events as { events: { type: string; metadata: { permission_id: string } }[] }).events.find(
    (event) => event.type === "permission_request",
  )!;
  const path = `/sessions/${sessionId}/permissions/${request.metadata.permission_id}`;
  expect((await post(path, { decision: "allow" })).status).toBe(200);
  expect((await editor.find((frame) => frame.method === "$/cancel_request")).params).toEqual({ requestId: asked.id });
  expect((await reply.answer).result.stopReason).toBe("end_turn");
  expect((await post(path, { decision: "deny" })).status).toBe(409);
});

test("the end of input ends both", async () => {
  const { editor, address } = await both();
  editor.child.stdin.end();
  expect(await editor.exited, editor.stderr()).toBe(0);
  await expect(fetch(`${address}/health`)).rejects.toThrow();
});
