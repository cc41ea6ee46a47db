/** The chat panel: a page that shows items in their places and sends the person's text. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { Item, Placed } from "./conversation.js";

export interface ChatViewDeps {
  readonly extension: vscode.Uri;
  /** The present state, to show when VS Code makes the page again after it was hidden. */
  state(): { readonly items: readonly Item[]; readonly isBusy: boolean };
  onPrompt(text: string): void;
  onCommand(command: string): void;
}

export const VIEW_ID = "chimera.chat";

export function createChatView(deps: ChatViewDeps) {
  let panel: vscode.WebviewView | null = null;
  const post = (message: object): void => void panel?.webview.postMessage(message);
  const reset = (items: readonly Item[]) => post({ type: "reset", items });
  const media = vscode.Uri.joinPath(deps.extension, "media");

  const registration = vscode.window.registerWebviewViewProvider(VIEW_ID, {
    resolveWebviewView(view) {
      panel = view;
      const page = view.webview;
      page.options = { enableScripts: true, localResourceRoots: [media] };
      page.onDidReceiveMessage((message: { type?: unknown; text?: unknown }) => {
        const { type, text } = message;
        if (type === "ready") {
          const { items, isBusy } = deps.state();
          reset(items);
          post({ type: "busy", isBusy });
        }
        if (type === "prompt" && typeof text === "string" && text.trim() !== "") deps.onPrompt(text);
        if (type === "command" && typeof text === "string") deps.onCommand(text);
      });
      view.onDidDispose(() => {
        panel = null;
      });
      page.html = htmlOf(page, media);
    },
  });
  return {
    show: ({ index, item }: Placed) => post({ type: "item", index, item }),
    /** Brings the panel to the front, without taking the focus. */
    reveal: () => panel?.show(true),
    /** Replaces all items. */
    reset,
    /** Whether a turn runs. */
    setBusy: (isBusy: boolean) => post({ type: "busy", isBusy }),
    dispose: () => registration.dispose(),
  };
}

// --- internal ---

function htmlOf(page: vscode.Webview, media: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const uri = (name: string) => page.asWebviewUri(vscode.Uri.joinPath(media, name)).toString();
  const policy = `default-src 'none'; style-src ${page.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${uri("chat.css")}">
<title>Chimera</title>
</head>
<body>
<main id="items" aria-live="polite"></main>
<form id="form">
<textarea id="text" rows="3" aria-label="Message to the agent" placeholder="Ask the agent, or type / for a command"></textarea>
<div id="buttons">
<button type="button" id="undo" class="secondary">Undo</button>
<button type="button" id="stop" class="secondary" hidden>Stop</button>
<button type="submit" id="send">Send</button>
</div>
</form>
<script nonce="${nonce}" src="${uri("chat.js")}"></script>
</body>
</html>`;
}
