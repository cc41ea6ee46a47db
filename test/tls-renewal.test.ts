// A certificate that is replaced while the server runs.
import { spawnSync } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { addressOf, startProgram } from "./program.js";
import { scratchTree } from "./scratch.js";

function makePair(dir: string, name: string) {
  const pair = { cert: join(dir, `${name}.crt`), key: join(dir, `${name}.key`) };
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", pair.key, "-out", pair.cert];
  expect(spawnSync("openssl", [...args, "-subj", `/CN=${name}`]).status).toBe(0);
  return pair;
}

function subjectAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      const { CN } = socket.getPeerCertificate().subject;
      resolve(String(CN));
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

test("with another name than its machine does not keep doctor from asking its server", {
  tags: ["needs-openssl"],
  timeout: 60_000,
}, async () => {
  const used = makePair(scratchTree({}), "example.org");
  const server = startProgram("otter", ["serve", "--port", "0", "--tls-cert", used.cert, "--tls-key", used.key]);
  await addressOf(server);
  const doctor = startProgram("otter", ["doctor", "--server", "--json"], {}, server);
  const findings = JSON.parse(await text(doctor.child.stdout));
  expect(findings.find(({ check }: { check: string }) => check === "servers")).toMatchObject({
    state: "ok",
    found: expect.stringMatching(/^port \d+ accepts work/),
  });
});

test("is taken up without a restart; one that cannot be used leaves the one before", {
  tags: ["needs-openssl"],
  timeout: 60_000,
}, async () => {
  const dir = scratchTree({});
  const used = makePair(dir, "first");
  const server = startProgram("otter", ["serve", "--port", "0", "--tls-cert", used.cert, "--tls-key", used.key]);
  const port = Number(new URL(await addressOf(server)).port);
  expect(await subjectAt(port)).toBe("first");
  const next = makePair(dir, "second");
  renameSync(next.cert, used.cert);
  renameSync(next.key, used.key);
  await expect.poll(() => subjectAt(port), { timeout: 20_000, interval: 500 }).toBe("second");
  writeFileSync(used.cert, "not a certificate");
  await expect.poll(() => server.stderr(), { timeout: 20_000 }).toContain("the one before stays");
  expect(await subjectAt(port)).toBe("second");

  const third = makePair(dir, "third");
  renameSync(third.cert, used.cert);
  renameSync(third.key, used.key);
  server.child.kill("SIGHUP");
  await expect.poll(() => server.stderr(), { timeout: 20_000 }).toContain('"message":"read again"');
  expect(await subjectAt(port)).toBe("third");
});
