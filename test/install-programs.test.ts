// How `npm test` handles programs that the system lacks, with an apt-get that only takes notes.
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { repositoryRoot, scratchTree } from "./scratch.js";

const INSTALLER = pathToFileURL(join(repositoryRoot, "scripts/install-programs.mjs")).href;
const asRoot = { tags: ["needs-root"] };

/** Every call is a line of `calls`; a call that names `refused` fails. */
function aptGet(refused: string): string {
  const bin = scratchTree({
    "apt-get": `#!/bin/sh
echo "$*" >> "\${0%/*}/calls"
case " $* " in *" ${refused} "*) echo "E: no ${refused}" >&2; exit 100;; esac
`,
  });
  for (const path of [bin, join(bin, "apt-get")]) chmodSync(path, 0o755);
  return bin;
}

function install(bin: string, env: Record<string, string> = {}, prelude = "") {
  const program = `import { installPrograms } from "${INSTALLER}"; ${prelude}
    await installPrograms((text) => console.error(text));`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
    env: { PATH: bin, ...env },
  });
  const calls = existsSync(join(bin, "calls")) ? readFileSync(join(bin, "calls"), "utf8").trim().split("\n") : [];
  return { status, stderr, calls: calls.map((line) => line.replace(/^-qq (-o \S+ )+/, "")) };
}

test("root has what is missing installed, and reads so first", asRoot, () => {
  const { status, stderr, calls } = install(aptGet("nothing"));
  expect(stderr).toMatch(/^installing bubblewrap, .*openssl, .* with apt-get.*CHIMERA_NO_INSTALL=1.*\n$/);
  expect(calls).toEqual(["update", expect.stringMatching(/^install -y --no-install-recommends bubblewrap .*openssl/)]);
  expect(status).toBe(0);
});

test("a package that cannot be had is named, keeps no other out and fails nothing", asRoot, () => {
  const { status, stderr, calls } = install(aptGet("jq"));
  expect(calls.slice(2)).toContain("install -y --no-install-recommends openssl");
  expect(stderr).toContain("E: no jq\napt-get could not install jq\n");
  expect(stderr).not.toContain("could not install openssl");
  expect(status).toBe(0);
});

test("no other user calls it, nor does root who declined", () => {
  const silent = { status: 0, stderr: "", calls: [] };
  expect(install(aptGet("nothing"), { CHIMERA_NO_INSTALL: "1" })).toEqual(silent);
  expect(install(aptGet("nothing"), {}, "if (process.getuid() === 0) process.setuid(65534);")).toEqual(silent);
});
