// Somebody else's agent: a loop of its own on the Ollama SDK, with one tool that writes a file. It knows nothing of
// sessions, logs or protocols; it takes a turn and yields what happens.
import { isAbsolute, join, relative } from "node:path";
import { Ollama } from "ollama";

const tool = {
  type: "function",
  function: {
    name: "write_note",
    description: "Write a note",
    parameters: { type: "object", properties: { file: { type: "string" }, text: { type: "string" } } },
  },
};

export function createNoteAgent({ host, model }) {
  const ollama = new Ollama({ host });
  return async function* noteAgent(turn, { ask, workspace }) {
    const messages = [{ role: "user", content: turn.prompt.text }];
    for (let step = 0; step < 5; step++) {
      const calls = [];
      for await (const { message } of await ollama.chat({ model, messages, tools: [tool], stream: true })) {
        if (message.content) yield { type: "text_delta", metadata: { text: message.content } };
        calls.push(...(message.tool_calls ?? []));
        messages.push(message);
      }
      if (calls.length === 0) return;
      for (const [index, call] of calls.entries()) {
        const call_id = `note-${step}-${index}`;
        const args = call.function.arguments;
        const path = join(workspace.cwd, args.file);
        const inside = !relative(workspace.cwd, path).startsWith("..") && !isAbsolute(args.file);
        yield {
          type: "tool_call",
          metadata: {
            call_id,
            tool: "write_note",
            args,
            kind: "edit",
            title: `Write ${args.file}`,
            locations: [{ path }],
          },
        };
        const { decision } = inside
          ? await ask({ call_id, tool: "write_note", args, risk: "low" })
          : { decision: "deny" };
        const success = decision === "allow" || decision === "always";
        if (success) {
          await workspace.willWrite(path);
          await workspace.writeText(path, args.text);
        }
        const output = success ? `wrote ${args.file}` : "not allowed";
        messages.push({ role: "tool", content: output });
        yield { type: "tool_result", metadata: { call_id, success, output, duration_ms: 0 } };
      }
    }
  };
}
