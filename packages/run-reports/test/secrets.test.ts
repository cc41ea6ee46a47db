import { performance } from "node:perf_hooks";
import { describe, expect, it } from "vitest";
import { createRedactor } from "../src/index.js";
import { type Loose, render, result, sourceOf, text } from "./fixture.js";

const { text: redact, value } = createRedactor(["live-token-0123456789", "short", "live-token-0123456789-longer"]);
const BASE64 = "MIIEpAIBAAKCAQEA7bq0YkJ9".repeat(3);
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${BASE64}\n${BASE64}\n-----END RSA PRIVATE KEY-----`;

describe("what is a secret", () => {
  it.each([
    ["the key sk-ant-api03-abcdefghijklmnop-xyz is", "the key [redacted] is"],
    ["sk-proj-0123456789abcdef0123", "[redacted]"],
    ["xai-0123456789abcdefghij0123", "[redacted]"],
    ["AIzaSyA0123456789abcdefghijklmnopqrstuv", "[redacted]"],
    ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "[redacted]"],
    ["github_pat_11ABCDEFG0abcdefghijkl_0123456789", "[redacted]"],
    ["glpat-0123456789abcdefghij", "[redacted]"],
    ["xoxb-0123456789-abcdefghij", "[redacted]"],
    ["AKIAIOSFODNN7EXAMPLE", "[redacted]"],
    ["hf_abcdefghijklmnopqrstuv", "[redacted]"],
    ["npm_0123456789abcdefghijABCDEFGHIJ012345", "[redacted]"],
    ["rk_live_0123456789abcdefgh", "[redacted]"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXBhcnQ", "[redacted]"],
    ["Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"],
    ["authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted]"],
    ["-H 'Authorization: token abcdef'", "-H 'Authorization: token [redacted]'"],
    ["a Bearer 0a1b2c3d4e5f", "a Bearer [redacted]"],
    ["Cookie: session=abcdef; theme=dark\nAccept: x", "Cookie: [redacted]\nAccept: x"],
    ["-H 'set-cookie: sid=0123456789'", "-H 'set-cookie: [redacted]'"],
    ["curl -u admin:hunter2 http://x", "curl -u admin:[redacted] http://x"],
    ["curl -s --user='me:correct-horse' x", "curl -s --user='me:[redacted]' x"],
    ["AccountName=a;AccountKey=abcd1234efgh5678==;X", "AccountName=a;AccountKey=[redacted];X"],
    ["AGE-SECRET-KEY-1QQPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "[redacted]"],
    ['{"api_key":"a1b2c3d4"}', '{"api_key":"[redacted]"}'],
    ['{\\"api_key\\":\\"a1b2c3d4\\"}', '{\\"api_key\\":\\"[redacted]\\"}'],
    ["OPENAI_API_KEY=plainvalue1", "OPENAI_API_KEY=[redacted]"],
    ["aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "aws_secret_access_key = [redacted]"],
    ["password: hunter2hunter2", "password: [redacted]"],
    ["postgres://app:s3cr3t@db:5432/x", "postgres://app:[redacted]@db:5432/x"],
    [`before\n${PEM}\nafter`, "before\n[redacted]\nafter"],
    [`cut: -----BEGIN OPENSSH PRIVATE KEY-----\n${BASE64}\n${BASE64}`, "cut: [redacted]"],
    [JSON.stringify(PEM), '"[redacted]"'],
    ["a live-token-0123456789-longer b live-token-0123456789", "a [redacted] b [redacted]"],
  ])("hides it in %j", (before, after) => {
    expect(redact(before)).toBe(after);
  });

  it.each([
    "nothing to hide here",
    "the task-list of sk-learn and risk-averse people",
    "password: string; token: number",
    "const password = await prompt()",
    "Bearer authentication is described in RFC 6750",
    "total_tokens: 1200, input_tokens: 800",
    "short",
    "see https://example.com:8080/a@b",
    "AKIA is a prefix, eyJ too",
    "a cookie: what a browser keeps",
    "docker run -u 1000:1000 x, ls -u a:b, -u root:wheel",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
  ])("leaves %j unchanged", (plain) => {
    expect(redact(plain)).toBe(plain);
  });

  it("hides the values of secret names at any depth", () => {
    expect(
      value({ headers: { Authorization: "x", Accept: "y" }, env: [{ api_key: "z", n: 1 }], token: "", tokens: "t" }),
    ).toEqual({
      headers: { Authorization: "[redacted]", Accept: "y" },
      env: [{ api_key: "[redacted]", n: 1 }],
      token: "",
      tokens: "t",
    });
  });

  it("survives endlessly nested values", () => {
    let deep: unknown = "sk-0123456789abcdefgh";
    for (let i = 0; i < 50_000; i++) deep = [deep];
    expect(JSON.stringify(value(deep))).toContain("[too deeply nested]");
  });
});

describe("secrets in pieces", () => {
  const key = "sk-ant-api03-0123456789abcdefghijklmnop";
  const pieces = (word: string, size: number): Loose[] =>
    (word.match(new RegExp(`[\\s\\S]{1,${size}}`, "g")) ?? []).map((part) => text(part));

  it.each([1, 3, 7, 20, 100])("finds a key cut into parts of %i, in every format", async (size) => {
    for (const format of ["json", "md", "html"] as const) {
      const shown = await render(sourceOf([...pieces(`my ${key} it is`, size), result()]), { format });
      const joined = format === "json" ? joinTexts(shown) : shown;
      expect(joined).toContain("my [redacted] it is");
    }
  });

  it("finds it across the edge of a window", async () => {
    for (const lead of [65_500, 65_520, 65_536, 48_100, 48_130]) {
      const words = `${"word ".repeat(lead / 5)}${key} ${"more ".repeat(20_000)}${key}`;
      const joined = joinTexts(await render(sourceOf(pieces(words, 11)), { format: "json" }));
      expect(joined.match(/\[redacted\]/g)).toHaveLength(2);
      expect(joined).not.toContain("0123456789");
      expect(joined.length).toBe(words.length - 2 * (key.length - "[redacted]".length));
    }
  });

  it("does not mix the output of two commands", async () => {
    const chunk = (call_id: string, chunk: string): Loose => ({
      type: "tool_progress",
      metadata: { call_id, stream: "stdout", chunk },
    });
    const mixed = [chunk("a", "A sk-ant-api03-01234"), chunk("b", "B "), chunk("a", "56789abcdef A"), chunk("b", "B")];
    const { events } = JSON.parse(await render(sourceOf(mixed), { format: "json" }));
    expect(events.map((event: { metadata: { chunk: string } }) => event.metadata.chunk)).toEqual([
      "A [redacted]",
      "B ",
      " A",
      "B",
    ]);
  });
});

describe("hostile text", () => {
  it.each([
    ["a".repeat(200_000)],
    ["-".repeat(200_000)],
    ["-----BEGIN RSA PRIVATE KEY-----".repeat(5_000)],
    ["sk-".repeat(60_000)],
    ["eyJaaaaaaaa.".repeat(15_000)],
    ["password=".repeat(20_000)],
    ["authorization: bearer ".repeat(8_000)],
    ["Bearer ".repeat(25_000)],
    [`Bearer ${"a".repeat(200_000)}`],
    ["a://b:".repeat(30_000)],
    [`api_key="${"x".repeat(200_000)}`],
    ["SG.aaaaaaaaaaaaaaaaaaaa.".repeat(8_000)],
    ["curl -u a ".repeat(20_000)],
    ["curl -u a:".repeat(20_000)],
    ["cookie: a=".repeat(20_000)],
  ])("takes linear time (%#)", (hostile) => {
    const started = performance.now();
    redact(hostile);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("a text of any size", () => {
  const SECRET = "sk-abcdefghijklmnopqrstuvwx";

  it("loses its secrets wherever the search splits it", async () => {
    const { value, largeValue } = createRedactor();
    for (let offset = 0; offset < 60; offset += 3) {
      const near = [30_000, 48_128, 65_536, 96_256, 131_072].map((at) => at - offset);
      let text = "";
      for (const at of near) text += `${" ".repeat(at - text.length)}${SECRET} `;
      const record = { metadata: { text: `${text}${"x ".repeat(20_000)}`, password: "a".repeat(70_000) } };
      const clean = await largeValue(record, () => undefined);
      expect(clean).toEqual(value(record));
      expect(JSON.stringify(clean)).not.toContain("sk-abc");
    }
  });

  it("is searched while other work can run", async () => {
    const { largeValue } = createRedactor();
    let pauses = 0;
    const members = Array.from({ length: 2000 }, (_, at) => ({ at, name: "curl -u a ".repeat(100) }));
    const clean = await largeValue({ text: "curl ".repeat(200_000), members }, () => {
      pauses += 1;
      return undefined;
    });
    expect((clean as { members: unknown[] }).members).toHaveLength(2000);
    expect(pauses).toBeGreaterThan(100);
  });
});

function joinTexts(json: string): string {
  const { events } = JSON.parse(json) as { events: { type: string; metadata: { text?: string } }[] };
  return events.map((event) => (event.type === "text_delta" ? event.metadata.text : "")).join("");
}
