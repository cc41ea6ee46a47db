import { describe, expect, it } from "vitest";
import { invalidDocuments, invalidUtf8, validDocuments } from "./json-corpus.js";
import { startServer } from "./server-process.js";

const answersById = (lines: string[]) => {
  const answers = new Map<string, string[]>();
  for (const line of lines) {
    const id = JSON.stringify(JSON.parse(line).id);
    answers.set(id, [...(answers.get(id) ?? []), line]);
  }
  return answers;
};
const probe = (name: string) => `{"jsonrpc":"2.0","id":"${name}","method":"echo","params":{}}\n`;

describe("documents through a real process", () => {
  it("answers every valid one exactly once, with its value", async () => {
    expect(validDocuments.length).toBeGreaterThanOrEqual(95);
    const server = startServer();
    validDocuments.forEach((document, id) => {
      server.child.stdin.write(`{"jsonrpc":"2.0","id":${id},"method":"echo","params":[${document}]}\n`);
    });
    server.child.stdin.write(probe("end"));
    await server.seen('"end"');
    expect(await server.finish()).toBe(0);
    const answers = answersById(server.lines());
    validDocuments.forEach((document, id) => {
      const [answer, ...more] = answers.get(String(id)) ?? [];
      expect(more, document).toEqual([]);
      expect(JSON.stringify(JSON.parse(answer ?? "{}").result), document).toBe(JSON.stringify([JSON.parse(document)]));
    });
  });

  it("refuses every valid one that is not a message with -32600, and continues", async () => {
    const server = startServer();
    for (const document of validDocuments) server.child.stdin.write(`${document}\n`);
    server.child.stdin.write(probe("end"));
    await server.seen('"end"');
    const codes = server.lines().map((line) => JSON.parse(line).error?.code);
    expect(codes).toEqual([...validDocuments.map(() => -32600), undefined]);
    expect(await server.finish()).toBe(0);
  });

  it("refuses every malformed one with -32700 and a null id, alone or inside a frame, and continues", async () => {
    expect(invalidDocuments.length).toBeGreaterThanOrEqual(180);
    const server = startServer();
    for (const document of invalidDocuments) {
      expect(() => JSON.parse(document), document).toThrow();
      server.child.stdin.write(`${document}\n`);
      server.child.stdin.write(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"k":${document}}}\n`);
    }
    for (const bytes of invalidUtf8) {
      server.child.stdin.write(
        Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), bytes, Buffer.from('"}\n')]),
      );
    }
    server.child.stdin.write(probe("end"));
    await server.seen('"end"');
    const answers = server.lines().map((line) => JSON.parse(line));
    expect(answers).toHaveLength(2 * invalidDocuments.length + invalidUtf8.length + 1);
    for (const answer of answers.slice(0, -1)) expect(answer).toMatchObject({ id: null, error: { code: -32700 } });
    expect(await server.finish()).toBe(0);
  });
});
