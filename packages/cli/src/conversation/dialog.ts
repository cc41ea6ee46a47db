/** A dialog in the place of the prompt: the person types a line, or chooses an entry, and what they type narrows the choice. */
import type { Key } from "../terminal/keys.js";
import { createEditor } from "./editor.js";
import type { Choice } from "./screen.js";

interface Open {
  readonly label: string;
  /** Null when the person types a line of text. */
  readonly choices: readonly Choice[] | null;
  readonly settle: (value: string | null) => void;
  at: number;
}

export function createDialog() {
  /** The prompt keeps its own text meanwhile. */
  const editor = createEditor({ history: [], suggest: () => null });
  let dialog: Open | null = null;

  function fitting({ choices }: Open): readonly Choice[] | null {
    const part = editor.text.trim().toLowerCase();
    return choices?.filter(({ label, description }) => `${label} ${description}`.toLowerCase().includes(part)) ?? null;
  }

  function settle(value: string | null): void {
    const open = dialog;
    dialog = null;
    editor.set("");
    open?.settle(value);
  }

  return {
    /** What is on the screen: the choices that fit, and which of them is selected. Null without a dialog. */
    get shown() {
      return dialog && { label: dialog.label, editor, choices: fitting(dialog), at: dialog.at };
    },
    /** Resolves to the line or the value, or to null. @param present the value that is selected at first */
    open(label: string, choices: readonly Choice[] | null, present?: string): Promise<string | null> {
      settle(null);
      const at = choices?.findIndex(({ value }) => value === present) ?? 0;
      return new Promise((resolve) => {
        dialog = { label, choices, settle: resolve, at: Math.max(0, at) };
      });
    },
    press(key: Key): void {
      if (!dialog) return;
      const name = key.kind === "named" ? key.name : "";
      const choices = fitting(dialog);
      if (name === "escape" || name === "ctrl-c") settle(null);
      else if (name === "enter") settle(choices === null ? editor.enter() : (choices[dialog.at]?.value ?? null));
      else if ((name === "up" || name === "down" || name === "tab") && choices && choices.length > 0)
        dialog.at = (dialog.at + (name === "up" ? -1 : 1) + choices.length) % choices.length;
      else if (editor.press(key)) dialog.at = 0;
    },
    close: () => settle(null),
  };
}
