import { expect, test } from "vitest";
import { asking, startProgram } from "./program.js";
import { receive, run } from "./running.js";

test("over the wire a refusal is an error with the reason, and the connection stays", async () => {
  const program = await startProgram(asking);
  const receiver = await receive();
  run(program, receiver);
  const connection = await receiver.attached();
  const { id: sessionId } = program.session;
  await expect(connection.request("session/set_mode", { sessionId, modeId: "auto" })).rejects.toMatchObject({
    code: -32603,
    message: "refused for a remote: mode is review; a remote may only make it stricter",
    data: { code: "refused_for_remote", method: "session/set_mode" },
  });
  await expect(connection.request("session/new", { cwd: "/", mcpServers: [] })).rejects.toMatchObject({
    data: { code: "refused_for_remote" },
  });
  expect(program.session.mode).toBe("review");
  await connection.request("session/set_mode", { sessionId, modeId: "read-only" });
  expect(program.session.mode).toBe("read-only");
});
