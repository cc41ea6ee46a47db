/** What a program needs to know of an ACP agent that runs turns, and what it knows of the well-known ones. */

/** An ACP agent that can run turns. A row with the name of a well-known agent changes the fields that it has, and leaves the others. */
export interface EngineSetting {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Variables of this process that the agent gets besides those that every command gets, such as its model's key. */
  readonly passEnv?: readonly string[];
  /** The one to use of the ways to log in that it offers. */
  readonly auth?: string;
  /** The directory of its own state, which a sandbox lets it write. */
  readonly state?: string;
  /** The npm package that installs the command of a well-known one. */
  readonly package?: string;
}

/** How to start well-known agents where they are installed. */
export const PRESETS: ReadonlyMap<string, EngineSetting> = new Map(
  Object.entries({
    codex: {
      package: "@zed-industries/codex-acp",
      command: "codex-acp",
      passEnv: ["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"],
      state: "~/.codex",
    },
    claude: {
      package: "@agentclientprotocol/claude-agent-acp",
      command: "claude-agent-acp",
      passEnv: ["ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"],
      state: "~/.claude",
    },
    gemini: {
      package: "@google/gemini-cli",
      command: "gemini",
      args: ["--acp"],
      passEnv: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"],
      state: "~/.gemini",
    },
    qwen: {
      package: "@qwen-code/qwen-code",
      command: "qwen",
      args: ["--acp"],
      passEnv: ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"],
      state: "~/.qwen",
    },
    opencode: {
      package: "opencode-ai",
      command: "opencode",
      args: ["acp"],
      passEnv: ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"],
      state: "~/.local/share/opencode",
    },
  }),
);
