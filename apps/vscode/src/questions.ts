/** Shows the agent's questions as quick picks, one at a time; the panel shows their full content. Dismissing a question means no. */
import * as vscode from "vscode";
import type { Decision, Reply } from "./agent.js";
import { type Asked, titleOf, wantedOf } from "./conversation.js";

export interface QuestionsDeps {
  answer(id: string, reply: Reply): void;
  /** Called with the outcome of a question, in words. */
  onSettled(id: string, words: string): void;
}

export function createQuestions(deps: QuestionsDeps) {
  const waiting: Asked[] = [];
  let picker: vscode.QuickPick<Choice> | null = null;

  const next = (): void => {
    const question = waiting[0];
    if (!question || picker) return;
    const pick = pickerFor(question);
    picker = pick;
    let chosen: Choice = DISMISSED;
    pick.ignoreFocusOut = true;
    pick.onDidAccept(() => {
      chosen = pick.selectedItems[0] ?? DISMISSED;
      pick.hide();
    });
    pick.onDidHide(() => {
      pick.dispose();
      picker = null;
      // Withdrawn questions are not in the list any more.
      if (waiting[0] === question) {
        waiting.shift();
        const { decision, answer, words } = chosen;
        deps.answer(question.id, { decision, answer, shown: question.shown });
        deps.onSettled(question.id, words);
      }
      next();
    });
    pick.show();
  };

  return {
    ask(question: Asked) {
      waiting.push(question);
      next();
    },
    /** Withdraws all unanswered questions, because the turn has ended. */
    withdraw() {
      for (const { id } of waiting.splice(0)) deps.onSettled(id, "not answered");
      picker?.hide();
    },
  };
}

// --- internal ---

interface Choice extends vscode.QuickPickItem {
  readonly decision: Decision;
  readonly answer?: string;
  /** The outcome for the panel. */
  readonly words: string;
}

const DISMISSED: Choice = { label: "", decision: "deny", words: "rejected" };
const EXACTLY = "exactly this call, in this folder";
const CHOICES: readonly Choice[] = [
  { label: "$(check) Allow once", decision: "allow", words: "allowed once" },
  { label: "$(check-all) Always allow", description: EXACTLY, decision: "always", words: "always allowed" },
  { label: "$(x) Reject", decision: "deny", words: "rejected" },
  { label: "$(circle-slash) Always reject", description: EXACTLY, decision: "never", words: "always rejected" },
];

function pickerFor(question: Asked): vscode.QuickPick<Choice> {
  const pick = vscode.window.createQuickPick<Choice>();
  const wanted = wantedOf(question);
  if (wanted) {
    pick.title = `Chimera asks: ${wanted.question.split("\n", 1)[0]}`;
    pick.placeholder = "Choose an answer, or type your own. Escape gives no answer.";
    const offered = wanted.options.map((name) => spoken(name));
    const offer = () => {
      const own = pick.value.trim();
      const isNew = own !== "" && !wanted.options.includes(own);
      pick.items = isNew ? [...offered, { ...spoken(own), description: "your own words", alwaysShow: true }] : offered;
    };
    pick.onDidChangeValue(offer);
    offer();
  } else {
    pick.title = `Chimera asks: ${titleOf(question.tool, question.args)}`;
    pick.placeholder = `Risk: ${question.risk}. The Chimera panel shows all of it.`;
    pick.items = CHOICES;
  }
  return pick;
}

function spoken(answer: string): Choice {
  return { label: answer, decision: "allow", answer, words: answer };
}
