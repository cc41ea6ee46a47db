import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { isSecret, isSecretName } from "../src/secrets.js";
import { ORDINARY, SECRET } from "./secret-names.js";

describe("by name", () => {
  test("every secret name is recognised, and no ordinary file", () => {
    expect(SECRET.filter((name) => !isSecretName(name))).toEqual([]);
    expect(ORDINARY.filter((name) => isSecretName(name))).toEqual([]);
  });

  test("a long name takes no time", () => {
    const started = performance.now();
    for (const unit of ["a", "_", ".env.", "id_rsa", "secrets.", "a_"]) isSecretName(unit.repeat(20_000));
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe("in the home directory", () => {
  const places =
    `.claude.json .claude/.credentials.json .gemini/oauth_creds.json .codex/auth.json .copilot/config.json .azure/x
    .config/github-copilot/apps.json .config/sops/age/keys.txt .config/chromium/Default/Cookies .mozilla/firefox/x .docker/x
    .m2/settings.xml .zsh_history .local/share/keyrings/login.keyring .terraformrc .cargo/credentials`.split(/\s+/);

  test("programs' credentials there are secret", () => {
    expect(places.filter((name) => !isSecret(`/home/me/${name}`, name, "/home/me"))).toEqual([]);
  });

  test("a home directory behind a link is recognised", () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), "secrets-")));
    onTestFinished(() => rmSync(base, { recursive: true, force: true }));
    mkdirSync(join(base, "real"));
    symlinkSync("real", join(base, "home"));
    const script = `import { isSecret } from ${JSON.stringify(new URL("../dist/secrets.js", import.meta.url).href)};
      console.log(isSecret(process.argv[1] + "/real/.gemini/x"), isSecret(process.argv[1] + "/real/x"));`;
    const env = { ...process.env, HOME: join(base, "home") };
    const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", script, base], {
      env,
      encoding: "utf8",
    });
    expect(stdout).toBe("true false\n");
  });

  test("the same names in a project are not secret, nor is the rest of the home directory", () => {
    expect(isSecret("/home/me/project/.claude/settings.json", ".claude/settings.json", "/home/me")).toBe(false);
    for (const name of [".claude.jsonx", ".cargo/config.toml", ".config/nvim/init.lua", "work/a.ts"])
      expect(isSecret(`/home/me/${name}`, name, "/home/me"), name).toBe(false);
  });
});
