// A permission request shows all of what it asks for, on every transport, and an answer to something else does not count.
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allowOnce, startEditor } from "./editor.js";
import { scratchTree } from "./scratch.js";
import { type Server, startServer, until } from "./server.js";

const script = (reply: object[]) => ({ steps: [{ reply }, { reply: [{ text: "Done." }] }] });
const bash = (command: string) => ({ call: "Bash", args: { command } });
/** A harmless beginning that fills every title and every screen, and what is to go unseen. */
const HIDDEN_TAIL = `echo fine\n${"\n".repeat(30)}${" ".repeat(600)}; touch hidden-tail`;
const OVERRIDE = "echo \u202e\u200b\u00a0safe\u0007\u001b[2K # \u{e0041}";

async function asking(turn: object[], args: string[] = []): Promise<{ server: Server; id: string; asked: Asked }> {
  const file = join(scratchTree({ "script.json": { turns: [script(turn)] } }), "script.json");
  const server = await startServer(["--model", `scripted:${file}`, ...args]);
  const { body } = await server.ask("POST /sessions", { body: { prompt: "go" } });
  const id = body.session_id as string;
  const frames = await until(server.frames(`/sessions/${id}/events`), ({ event }) => event === "permission_request");
  return { server, id, asked: frames.at(-1)!.data.metadata };
}

interface Asked {
  readonly permission_id: string;
  readonly shown: string;
  readonly content: readonly { type: string; text?: string; path?: string; old_text?: string; new_text?: string }[];
}

describe("over HTTP", () => {
  test("a command is shown to its end, and the record has the digest of that", async () => {
    const { server, id, asked } = await asking([bash(HIDDEN_TAIL)]);
    expect(asked.content).toEqual([{ type: "text", text: HIDDEN_TAIL }]);
    expect(asked.shown).toBe(createHash("sha256").update(JSON.stringify(asked.content)).digest("hex"));
    expect((await server.ask(`GET /sessions/${id}/permissions`)).body).toEqual({ permissions: [asked] });
  });

  test("what cannot be seen is written out, and what is folded is counted", async () => {
    const { asked } = await asking([bash(OVERRIDE)]);
    expect(asked.content[0]?.text).toBe("echo \\u{202e}\\u{200b}\\u{a0}safe\\u{7}\\u{1b}[2K # \\u{e0041}");
    const long = `echo ${"a".repeat(50_000)}; touch tail`;
    const [folded] = (await asking([bash(long)])).asked.content;
    expect(folded?.text).toMatch(/^echo a+\n\[17\d{3} of 500\d\d characters are not shown here\]\na+; touch tail$/);
  });

  test("an edit is shown as its diff before anybody answers; outside the workspace nothing is read for it", async () => {
    const edit = { call: "Edit", args: { path: "README.md", old_string: "workspace", new_string: "place" } };
    const { server, asked } = await asking([edit]);
    const path = join(server.program.cwd, "README.md");
    expect(asked.content).toEqual([{ type: "diff", path, old_text: "# A workspace\n", new_text: "# A place\n" }]);
    const secret = join(scratchTree({ "secret.txt": "a secret\n" }), "secret.txt");
    const outside = await asking([{ call: "Write", args: { path: secret, content: "mine\n" } }]);
    expect(JSON.stringify(outside.asked.content)).not.toContain("a secret");
    expect(outside.asked.content).toEqual([{ type: "text", text: `path: ${secret}\ncontent: \nmine\n` }]);
  });

  test("an edit that cannot be made says so", async () => {
    const edit = { call: "Edit", args: { path: "README.md", old_string: "nowhere", new_string: "place" } };
    const { asked } = await asking([edit]);
    expect(asked.content.at(-1)?.text).toContain("[the change is not shown: old_string does not occur in README.md");
  });

  test("an answer to something else than what was shown is refused, and the question stays", async () => {
    const { server, id, asked } = await asking([bash("touch made")]);
    const answer = (body: object) => server.ask(`POST /sessions/${id}/permissions/${asked.permission_id}`, { body });
    const wrong = await answer({ decision: "allow", shown: "0".repeat(64) });
    expect(wrong).toMatchObject({ status: 409, body: { error: "not_as_shown" } });
    const approve = { session_id: id, permission_id: asked.permission_id, approved: true, shown: "" };
    expect((await server.ask("POST /tool/approve", { body: approve })).status).toBe(409);
    expect(existsSync(join(server.program.cwd, "made"))).toBe(false);
    expect((await answer({ decision: "allow", shown: asked.shown })).status).toBe(200);
    await server.all(`/sessions/${id}/events`);
    expect(existsSync(join(server.program.cwd, "made"))).toBe(true);
  });
});

describe("in an editor", () => {
  test("the whole command stands in the question, and the title says that it leaves something out", async () => {
    const editor = await startEditor({ turns: [script([bash(`${HIDDEN_TAIL} \`\`\`\` # ${OVERRIDE}`)])] });
    const { sessionId } = await editor.open();
    await editor.prompt(sessionId, "go");
    const [{ toolCall, _meta }] = editor.asked("session/request_permission");
    expect(toolCall.title).toMatch(/^echo fine … \(\d+ more characters\)$/);
    const { text } = toolCall.content[0].content;
    expect(text.startsWith("`````\necho fine\n")).toBe(true);
    expect(text).toContain("; touch hidden-tail");
    expect(text).toContain("\\u{202e}");
    expect(text.endsWith("\n`````")).toBe(true);
    expect(_meta["chimera.dev/shown"]).toMatch(/^[0-9a-f]{64}$/);
  });

  test("a write shows its diff, and an answer that carries another digest is a no", async () => {
    const write = { call: "Write", args: { path: "README.md", content: "# Mine\n" } };
    const answers = {
      "session/request_permission": (params: Record<string, unknown>) => ({
        ...allowOnce(params as never),
        _meta: { "chimera.dev/shown": "another" },
      }),
    };
    const editor = await startEditor({ turns: [script([write])], answers });
    const { sessionId } = await editor.open();
    const { updates } = await editor.prompt(sessionId, "go");
    const [{ toolCall }] = editor.asked("session/request_permission");
    expect(toolCall.content).toEqual([
      { type: "diff", path: expect.stringMatching(/README\.md$/), oldText: "# A workspace\n", newText: "# Mine\n" },
    ]);
    expect(JSON.stringify(updates)).toContain("denied this call");
  });
});
