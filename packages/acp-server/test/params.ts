/** Params with which calls of another person's session are made. A new row that names a session and takes more gets an entry here. */
const prompt = [{ type: "text", text: "list files" }];

/** The params of each method besides the session and the question, so that only who calls can be a reason to refuse. */
const MORE: Readonly<Record<string, object>> = {
  "session/prompt": { prompt },
  "session/set_mode": { modeId: "auto" },
  "session/set_config_option": { configId: "mode", value: "auto" },
  "session/set_model": { modelId: "offline" },
  "session/set_title": { title: "taken" },
  "session/message": { content: "list files" },
  "session/turn": { prompt: "list files" },
  "session/setMode": { mode: "auto" },
  "session/setModel": { model: "offline" },
  "permission/respond": { reply: "allow" },
  "tool/approve": { decision: "approve" },
};
/** Methods that name no session. */
const UNNAMED = new Set(["authenticate", "logout", "session/new", "session/list"]);

/** Calls of each method that names a session, with params that its owner could send. */
export function callsOf(
  methods: readonly string[],
  { session, question, cwd }: { readonly session: string; readonly question: string; readonly cwd: string },
): { method: string; params: object }[] {
  const named = { sessionId: session, requestId: question, permissionId: question, cwd, mcpServers: [] };
  return methods
    .filter((method) => !UNNAMED.has(method))
    .map((method) => ({ method, params: { ...named, ...MORE[method] } }));
}

/** How such a call is refused: by what is missing, not by the form of its params. */
export const NOT_FOUND = /no (\w+ )?(session|permission)|not found/i;
