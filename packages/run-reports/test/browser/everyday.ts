/** A typical session: a question, some tool calls, an edit, a failed test, an answer with code and a table. */
import { type Loose, prompt, result, text } from "../fixture.js";

const call = (call_id: string, tool: string, title: string, args: object): Loose => ({
  type: "tool_call",
  metadata: { call_id, tool, title, args, kind: "other", locations: [] },
});
const done = (call_id: string, output: string, more: object = {}): Loose => ({
  type: "tool_result",
  metadata: { call_id, success: true, output, duration_ms: 1840, ...more },
});

const DIFF = `--- src/fetch.ts
+++ src/fetch.ts
@@ -1,4 +1,7 @@
 export async function get(url: string) {
-  const response = await fetch(url);
-  return response.json();
+  for (let attempt = 1; ; attempt++) {
+    const response = await fetch(url);
+    if (response.ok || attempt === 3) return response.json();
+    await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt));
+  }
 }
`;

const ANSWER = `## Done

The helper now tries **three times** with a growing pause:

\`\`\`ts
await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** attempt)); // and a long line that does not fit
\`\`\`

- the signature is unchanged
- \`npm test\` has one failure, see [the docs](https://example.com/retry)

| attempt | pause | a column that makes the table wider than a phone | and one more |
|---|---:|---|---|
| 1 | 200 ms | aaaaaaaaaaaaaaaaaaaaaaaa | bbbbbbbbbbbbbbb |
`;

export const EVERYDAY: readonly Loose[] = [
  prompt("Add a retry to the fetch helper and run the tests.\nKeep the signature as it is."),
  { type: "turn_start", metadata: { prompt: "p1" } },
  { type: "thought_delta", metadata: { text: "The helper is probably in src/fetch.ts. I should read it first." } },
  text("I'll read the helper first, then change it."),
  call("c1", "Read", "src/fetch.ts", { path: "src/fetch.ts" }),
  done("c1", "export async function get(url: string) {\n  const response = await fetch(url);\n}\n"),
  call("c2", "Edit", "src/fetch.ts", { path: "src/fetch.ts" }),
  { type: "permission_request", metadata: { permission_id: "q1", call_id: "c2" } },
  { type: "permission_resolved", metadata: { permission_id: "q1", decision: "allow", by: "client" } },
  { type: "file_edit", metadata: { path: "src/fetch.ts", diff: DIFF, change: "update" } },
  done("c2", "edited"),
  call("c3", "Bash", `npm test -- ${"--a-long-flag ".repeat(10)}`, { command: "npm test" }),
  done("c3", `\u001b[31m✗ 1 failed\u001b[0m ${"x".repeat(300)}`, { success: false, error: "Exit code 1" }),
  { type: "notice", metadata: { level: "warning", text: "The model was busy; tried again after 2 s" } },
  text(ANSWER),
  { type: "plan", metadata: { entries: [{ content: "Add the retry", status: "completed" }] } },
  { type: "usage", metadata: { input: 8200, output: 940 } },
  result({ steps: 4, tool_calls_total: 3, cost: 0.0731 }),
  prompt("undo that", "p2", 1),
  { type: "turn_start", turn: 1, metadata: { prompt: "p2" } },
  { type: "undo", turn: 1, metadata: { turns: 1, files: [{}], conflicts: [], remaining: 0 } },
  result({ success: false, error: "the provider is busy" }),
];
