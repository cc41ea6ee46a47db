// The agents from npm that are run behind otter: their versions, how they are started, and what each can and cannot do.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { ToolNames } from "./model.js";

export interface RealAgent {
  readonly name: string;
  /** How it is started: a script for the Node that the agents need, or a program. */
  readonly script?: string;
  readonly program?: string;
  readonly args?: readonly string[];
  readonly auth?: string;
  readonly tools: ToolNames;
  /** Its settings, by path below its home, and its environment. */
  setUp(at: { readonly home: string; readonly url: string; readonly cwd: string }): {
    readonly files: Readonly<Record<string, object | string>>;
    readonly env: Readonly<Record<string, string>>;
  };
  /** How it takes up its session after its process was killed: by itself, or only from the conversation as text. */
  readonly resumes: "itself" | "from text";
}

const platform = `${process.platform}-${process.arch}`;

/** Package -> version; the Node that most of them need is one of them. */
const PACKAGES: Readonly<Record<string, string>> = {
  [`node-${platform}`]: "24.21.0",
  "@zed-industries/codex-acp": "0.16.0",
  "@agentclientprotocol/claude-agent-acp": "0.99.1",
  "@google/gemini-cli": "0.61.0",
  "@qwen-code/qwen-code": "0.24.4",
  "opencode-ai": "1.18.33",
};

const cache = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "chimera-test-engines");
const installed = (path: string) => join(cache, "node_modules", path);

/** Installs the agents where they are not yet, without running scripts of theirs. */
export function installAgents(): void {
  const manifest = JSON.stringify({ private: true, dependencies: PACKAGES });
  const file = join(cache, "package.json");
  if (existsSync(file) && readFileSync(file, "utf8") === manifest && existsSync(installed(".package-lock.json")))
    return;
  mkdirSync(cache, { recursive: true });
  writeFileSync(file, manifest);
  execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--force"], {
    cwd: cache,
    stdio: "ignore",
  });
}

/** The command of an agent and its arguments. */
export function commandOf({ script, program, args = [] }: RealAgent): readonly string[] {
  const node = installed(`node-${platform}/bin/node`);
  return script ? [node, installed(script), ...args] : [installed(program!), ...args];
}

/** `PATH` with the Node that the agents need first. */
export const agentPath = (): string => `${dirname(installed(`node-${platform}/bin/node`))}:${process.env["PATH"]}`;

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const exec = (cmd: string) => ({ name: "exec_command", args: { cmd } });
const geminiTools: ToolNames = {
  write: (file_path, content) => ({ name: "write_file", args: { file_path, content } }),
  shell: (command) => ({ name: "run_shell_command", args: { command, is_background: false } }),
};

export const AGENTS: readonly RealAgent[] = [
  {
    name: "codex",
    program: `@zed-industries/codex-acp-${platform}/bin/codex-acp`,
    tools: { shell: exec, write: (path, content) => exec(`printf %s ${quote(content)} > ${quote(path)}`) },
    setUp: ({ home, url, cwd }) => ({
      env: { CODEX_HOME: join(home, ".codex"), OPENAI_API_KEY: "x", CODEX_API_KEY: "x", MOCK_KEY: "x" },
      files: {
        ".codex/config.toml": `model = "mock"
model_provider = "mock"
approval_policy = "untrusted"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[model_providers.mock]
name = "mock"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
[analytics]
enabled = false
[projects."${cwd}"]
trust_level = "trusted"
`,
      },
    }),
    resumes: "itself",
  },
  {
    name: "claude",
    script: "@agentclientprotocol/claude-agent-acp/dist/index.js",
    tools: {
      write: (file_path, content) => ({ name: "Write", args: { file_path, content } }),
      shell: (command) => ({ name: "Bash", args: { command, description: "Runs it" } }),
    },
    setUp: ({ home, url }) => ({
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: "x",
        ANTHROPIC_MODEL: "mock",
        CLAUDE_CONFIG_DIR: join(home, ".claude"),
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_TELEMETRY: "1",
      },
      files: {
        ".claude/.claude.json": {
          hasCompletedOnboarding: true,
          customApiKeyResponses: { approved: ["x"], rejected: [] },
        },
      },
    }),
    resumes: "itself",
  },
  {
    name: "gemini",
    script: "@google/gemini-cli/bundle/gemini.js",
    args: ["--acp"],
    auth: "gemini-api-key",
    tools: geminiTools,
    setUp: ({ url }) => ({
      env: { GEMINI_API_KEY: "x", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: "true" },
      files: {
        ".gemini/settings.json": {
          security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
          model: { name: "gemini-2.5-flash" },
          privacy: { usageStatisticsEnabled: false },
          general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
          telemetry: { enabled: false },
        },
      },
    }),
    resumes: "from text",
  },
  {
    name: "qwen",
    script: "@qwen-code/qwen-code/cli-entry.js",
    args: ["--acp", "--auth-type", "openai", "--approval-mode", "default"],
    auth: "openai",
    tools: geminiTools,
    setUp: ({ url }) => ({
      env: { OPENAI_API_KEY: "x", OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: "mock" },
      files: {
        ".qwen/settings.json": {
          security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
          model: { name: "mock" },
          privacy: { usageStatisticsEnabled: false },
          general: { enableAutoUpdate: false },
          telemetry: { enabled: false },
        },
      },
    }),
    resumes: "itself",
  },
  {
    name: "opencode",
    program: `opencode-${platform}/bin/opencode`,
    args: ["acp"],
    tools: {
      write: (filePath, content) => ({ name: "write", args: { filePath, content } }),
      shell: (command) => ({ name: "bash", args: { command, description: "Runs it" } }),
    },
    setUp: ({ url }) => ({
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: "1",
        OPENCODE_DISABLE_MODELS_FETCH: "1",
        OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
        OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
      },
      files: {
        ".config/opencode/opencode.json": {
          autoupdate: false,
          share: "disabled",
          model: "mock/mock",
          small_model: "mock/mock",
          permission: { edit: "ask", bash: "ask" },
          enabled_providers: ["mock"],
          provider: {
            mock: {
              npm: "@ai-sdk/openai-compatible",
              name: "mock",
              options: { baseURL: `${url}/v1`, apiKey: "x" },
              models: { mock: { name: "mock", tool_call: true, limit: { context: 2_000_000, output: 1_000_000 } } },
            },
          },
        },
      },
    }),
    resumes: "itself",
  },
];
