/** Questions of the agent, one at a time, as a quick pick. One that is dismissed is answered with no. */
import * as vscode from "vscode";
import type { Decision, Update } from "./agent.js";
import { titleOf } from "./conversation.js";

type Question = Extract<Update, { kind: "permission_request" }>;
type Answer = (id: string, decision: Decision, shown: string | undefined) => void;

export interface Questions {
  ask(question: Question): void;
  /** Takes back what was not answered: the turn has ended. */
  withdraw(): void;
}

export function createQuestions(answer: Answer): Questions {
  const waiting: Question[] = [];
  let picker: vscode.QuickPick<Choice> | null = null;

  const next = (): void => {
    const question = waiting[0];
    if (!question || picker) return;
    const pick = vscode.window.createQuickPick<Choice>();
    picker = pick;
    let decision: Decision = "deny";
    pick.title = `Chimera asks: ${titleOf(question.tool, question.args)}`;
    pick.placeholder = `${question.tool}, risk ${question.risk}: ${JSON.stringify(question.args).slice(0, 300)}`;
    pick.items = CHOICES;
    pick.ignoreFocusOut = true;
    pick.onDidAccept(() => {
      decision = pick.selectedItems[0]?.decision ?? "deny";
      pick.hide();
    });
    pick.onDidHide(() => {
      pick.dispose();
      picker = null;
      // Withdrawn questions are gone from the list.
      if (waiting[0] === question) {
        waiting.shift();
        answer(question.id, decision, question.shown);
      }
      next();
    });
    pick.show();
  };

  return {
    ask(question) {
      waiting.push(question);
      next();
    },
    withdraw() {
      waiting.length = 0;
      picker?.hide();
    },
  };
}

// --- internal ---

interface Choice extends vscode.QuickPickItem {
  readonly decision: Decision;
}

const CHOICES: readonly Choice[] = [
  { label: "$(check) Allow once", decision: "allow" },
  { label: "$(check-all) Always allow", description: "exactly this call, in this folder", decision: "always" },
  { label: "$(x) Reject", decision: "deny" },
  { label: "$(circle-slash) Always reject", description: "exactly this call, in this folder", decision: "never" },
];
