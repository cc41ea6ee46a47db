/** Permission requests that wait for an answer, one at a time; other clients may answer them too. */
import type { Metadata, SessionRecord } from "@chimera/acp-schema/events";
import type { SessionClient } from "../client/client.js";
import { wrap } from "../terminal/markdown.js";
import { parseAnswer, permissionQuestion, permissionWords } from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";

export interface QuestionsOptions {
  readonly style: Style;
  readonly print: (text: string) => void;
  /** Columns of the screen now; undefined where lines are never wrapped. */
  readonly width: () => number | undefined;
  /** False while the log is replayed: what was asked then may be answered by now. */
  readonly live: () => boolean;
  readonly answer: SessionClient["answer"];
}

export function createQuestions({ style, print, width, live, answer }: QuestionsOptions) {
  const waiting: Metadata<"permission_request">[] = [];

  /** The question that is on the screen: only what was shown can be answered. */
  let shown: Metadata<"permission_request"> | null = null;

  const announce = () => {
    const [first] = waiting;
    if (first) void show(first);
  };
  const show = async (question: Metadata<"permission_request">) => {
    const text = await permissionQuestion(question, style);
    if (waiting[0] !== question) return;
    print(`${text.includes("\n") ? text : wrap(text, width(), 2)}\n`);
    shown = question;
  };
  /** True when it was waiting. */
  const drop = (id: string): boolean => {
    const at = waiting.findIndex(({ permission_id }) => permission_id === id);
    if (at < 0) return false;
    waiting.splice(at, 1);
    if (at === 0 && live()) announce();
    return true;
  };

  return {
    /** The answers that the question on the screen takes; null when none is asked. */
    get choices() {
      const [first] = waiting;
      return first ? permissionWords(first.options) : null;
    },
    /** Puts the question on the screen again. */
    announce,
    apply(record: SessionRecord) {
      if (record.type === "permission_request") {
        waiting.push(record.metadata);
        if (waiting.length === 1 && live()) announce();
      } else if (record.type === "permission_resolved") {
        const { permission_id, decision, by } = record.metadata;
        if (!drop(permission_id) || !live()) return;
        print(`  ${style.dim(by === "client" ? `answered elsewhere: ${decision}` : decision)}\n`);
      }
    },
    /** What was typed; what is no answer changes nothing. */
    async reply(text: string) {
      const [first] = waiting;
      const decision = first && first === shown ? parseAnswer(text, first.options) : undefined;
      if (!first || !decision) return;
      drop(first.permission_id);
      if (!(await answer(first.permission_id, decision, first.shown)))
        print(`${style.yellow("somebody else answered first")}\n`);
    },
  };
}
