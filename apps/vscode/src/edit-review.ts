/** The agent's edits in the editor, each with a lens to accept or reject it. Rejecting is a WorkspaceEdit, so the editor can undo it. */
import * as vscode from "vscode";
import { createEdits, type FileEdit } from "./edits.js";

export function createEditReview() {
  let edits = createEdits();
  const changed = new vscode.EventEmitter<void>();
  const lenses = vscode.languages.registerCodeLensProvider(
    { scheme: "file" },
    {
      onDidChangeCodeLenses: changed.event,
      provideCodeLenses: ({ uri, lineCount }) =>
        edits.linesOf(uri.fsPath).flatMap((start) => {
          const line = Math.min(start, lineCount - 1);
          const range = new vscode.Range(line, 0, line, 0);
          return [
            new vscode.CodeLens(range, { title: "$(check) Accept", command: "chimera.acceptEdit", arguments: [uri] }),
            new vscode.CodeLens(range, { title: "$(discard) Reject", command: "chimera.rejectEdit", arguments: [uri] }),
          ];
        }),
    },
  );
  const chosen = (uri: vscode.Uri | undefined) => uri ?? vscode.window.activeTextEditor?.document.uri;
  const accept = (uri?: vscode.Uri): void => {
    const target = chosen(uri);
    if (target) edits.accept(target.fsPath);
    changed.fire();
  };

  return {
    /** Returns the line at which the file's newest edits begin, counted from 1. */
    add(edit: FileEdit) {
      edits.add(edit);
      changed.fire();
      return (edits.linesOf(edit.path)[0] ?? 0) + 1;
    },
    /** Accepts the edits of a file, or of the file in the active editor. */
    accept,
    async reject(uri?: vscode.Uri) {
      const target = chosen(uri);
      if (!target || !edits.paths.includes(target.fsPath)) return;
      const document = await vscode.workspace.openTextDocument(target);
      const before = edits.without(target.fsPath, document.getText());
      if (before === undefined) {
        const why = `${vscode.workspace.asRelativePath(target)} was changed since, so the agent's edit cannot be taken out of it.`;
        void vscode.window.showWarningMessage(`${why} "Chimera: Undo the Last Turn" can still undo the turn.`);
        return;
      }
      const edit = new vscode.WorkspaceEdit();
      if (before === null) edit.deleteFile(target, { ignoreIfNotExists: true });
      else edit.replace(target, new vscode.Range(0, 0, document.lineCount, 0), before);
      if (!(await vscode.workspace.applyEdit(edit))) return;
      if (before !== null) await document.save();
      accept(target);
    },
    /** Forgets all edits, because their turn was undone or a new session began. */
    clear() {
      edits = createEdits();
      changed.fire();
    },
    dispose() {
      lenses.dispose();
      changed.dispose();
    },
  };
}
