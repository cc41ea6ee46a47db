/** The extension: commands and a panel for one agent, which is started with the first session. */
import * as vscode from "vscode";
import { type Agent, startAgent, type Update } from "./agent.js";
import { createChatView, VIEW_ID } from "./chat-view.js";
import { type Conversation, createConversation } from "./conversation.js";
import { createEditReview } from "./edit-review.js";
import { createQuestions } from "./questions.js";

export function activate(context: vscode.ExtensionContext): void {
  const { extensionUri, extension } = context;
  const output = vscode.window.createOutputChannel("Chimera");
  const status = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right);
  const review = createEditReview();
  let agent: Agent | null = null;
  let starting: Promise<Agent | null> | null = null;
  let conversation: Conversation = createConversation();
  /** Number of turns that have not ended. */
  let running = 0;

  const questions = createQuestions({
    answer: (id, reply) => void agent?.answer(id, reply).catch(complain),
    onSettled(id, words) {
      const placed = conversation.answered(id, words);
      if (placed) chat.show(placed);
    },
  });
  const chat = createChatView({
    extension: extensionUri,
    state: () => ({ items: conversation.items, isBusy: running > 0 }),
    onPrompt: (text) => void say(text),
    onCommand: (command) => {
      if (command === "chimera.undo" || command === "chimera.cancel") void vscode.commands.executeCommand(command);
    },
  });

  const complain = (error: unknown): void => {
    const text = error instanceof Error ? error.message : String(error);
    output.appendLine(text);
    chat.show(conversation.add({ type: "notice", level: "error", text }));
  };
  const onUpdate = (update: Update): void => {
    const placed = conversation.apply(update);
    if (placed) chat.show(placed);
    if (update.kind === "permission_request") {
      chat.reveal();
      questions.ask(update);
    }
    if (update.kind === "file_edit") void reveal(update.path, review.add(update));
    if (update.kind === "file_open") void reveal(update.path, update.line);
    if (update.kind === "notice" && update.level !== "info") void vscode.window.showWarningMessage(update.text);
    if (update.kind === "cost_update") status.text = `$(credit-card) $${update.total_usd.toFixed(4)}`;
    if (update.kind === "turn_end") questions.withdraw();
  };

  const start = async (): Promise<Agent | null> => {
    const folder = vscode.workspace.workspaceFolders?.[0];
    if (!folder) {
      void vscode.window.showErrorMessage("Chimera works in a folder: open one, then start the session.");
      return null;
    }
    const settings = vscode.workspace.getConfiguration("chimera");
    await agent?.close();
    agent = null;
    conversation = createConversation();
    review.clear();
    running = 0;
    chat.reset([]);
    chat.setBusy(false);
    try {
      const begun: Agent = await startAgent({
        command: settings.get<string>("command", "chimera"),
        args: settings.get<string[]>("args", []),
        cwd: folder.uri.fsPath,
        version: String((extension.packageJSON as { version?: unknown }).version),
        onUpdate,
        onLog: (text) => output.append(text),
        onEnd(reason) {
          if (agent === begun) agent = null;
          questions.withdraw();
          if (reason !== null) complain(reason);
        },
      });
      agent = begun;
      output.appendLine(`session ${begun.sessionId}`);
      status.text = "$(comment-discussion) Chimera";
      status.show();
      return begun;
    } catch (error) {
      complain(error);
      void vscode.window.showErrorMessage(`Chimera could not start: ${error instanceof Error ? error.message : error}`);
      return null;
    }
  };
  /** The session. Starts one if there is none, but only one for simultaneous calls. */
  const session = (anew = false): Promise<Agent | null> => {
    if (!anew && agent) return Promise.resolve(agent);
    starting ??= start().finally(() => {
      starting = null;
    });
    return starting;
  };
  const say = async (text: string): Promise<void> => {
    const to = await session();
    if (!to) return;
    chat.show(conversation.add({ type: "user", text }));
    running++;
    chat.setBusy(true);
    try {
      await to.say(text);
    } catch (error) {
      if (to === agent || agent === null) complain(error);
    } finally {
      if (to === agent) running = Math.max(0, running - 1);
      chat.setBusy(running > 0);
    }
  };

  const commands: Readonly<Record<string, (...args: never[]) => unknown>> = {
    "chimera.startSession": async () => {
      await vscode.commands.executeCommand(`${VIEW_ID}.focus`);
      await session(true);
    },
    "chimera.cancel": () => agent?.cancel().catch(complain),
    "chimera.undo": async () => {
      if (!agent) return void vscode.window.showInformationMessage("There is no session to undo in yet.");
      await say("/undo");
      review.clear();
    },
    "chimera.acceptEdit": (uri?: vscode.Uri) => review.accept(uri),
    "chimera.rejectEdit": (uri?: vscode.Uri) => review.reject(uri),
  };
  context.subscriptions.push(
    output,
    status,
    review,
    chat,
    ...Object.entries(commands).map(([name, run]) => vscode.commands.registerCommand(name, run)),
  );
  stop = async () => agent?.close();
}

/** Set by `activate`, because VS Code calls `deactivate` without a context. */
let stop = async (): Promise<void> => {};

export function deactivate(): Promise<void> {
  return stop();
}

// --- internal ---

/** Shows a place in a file without taking the focus from the person. */
async function reveal(path: string, line: number | undefined): Promise<void> {
  const at = new vscode.Position(Math.max(0, (line ?? 1) - 1), 0);
  const options = { selection: new vscode.Range(at, at), preserveFocus: true, preview: true };
  // Ignore pictures and deleted files, which have no text to show.
  await vscode.window.showTextDocument(vscode.Uri.file(path), options).then(undefined, () => {});
}
