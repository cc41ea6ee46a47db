/** Shows permission requests one at a time and takes the person's answers. Other clients may answer first. */
import type { Metadata, SessionRecord } from "@chimera/acp-schema/events";
import type { PermissionAnswer, SessionClient } from "../client/client.js";
import { wrap } from "../terminal/markdown.js";
import {
  EXTRAS,
  explainAnswers,
  folded,
  offerLead,
  PAUSE_MS,
  parseAnswer,
  permissionQuestion,
  permissionWords,
} from "../terminal/permission.js";
import type { Style } from "../terminal/style.js";
import type { Screen } from "./screen.js";

type Request = Metadata<"permission_request">;

export interface QuestionsOptions {
  readonly style: Style;
  readonly screen: Pick<Screen, "print" | "ask" | "bell" | "changed">;
  /** The present size of the screen; undefined when lines are neither wrapped nor folded. */
  readonly size: () => { readonly columns: number; readonly rows: number } | undefined;
  readonly clock: () => number;
  /** False while the log is replayed, because the requests in it may be answered already. */
  readonly live: () => boolean;
  readonly answer: SessionClient["answer"];
}

export function createQuestions({ style, screen, size, clock, live, answer }: QuestionsOptions) {
  const waiting: Request[] = [];
  /** The question on the screen. Only a shown question can be answered, and only after a pause. */
  let shown: { readonly request: Request; readonly lines: readonly string[]; isFolded: boolean } | null = null;
  let countsFrom = Number.POSITIVE_INFINITY;

  const announce = () => {
    const [first] = waiting;
    if (first) void show(first);
  };
  const show = async (request: Request) => {
    const { lines, asked, offered } = await permissionQuestion(request, style);
    if (waiting[0] !== request) return;
    const room = size();
    const most = room ? Math.max(8, room.rows - 10) : Number.POSITIVE_INFINITY;
    const note = (hidden: number) => style.yellow(`│ … ${hidden} more lines, ${EXTRAS.all} shows them`);
    const visible = folded(lines, most, note);
    const isFolded = visible.length < lines.length;
    const columns = room?.columns;
    const more = offered.map((name, at) => wrap(name, columns, offerLead(at)));
    screen.print([...visible, wrap(asked, columns), ...more, ""].join("\n"));
    screen.bell();
    shown = { request, lines, isFolded };
    countsFrom = clock() + (room ? PAUSE_MS : 0);
    screen.changed();
  };
  /** Removes a request. Returns whether it was waiting. */
  const drop = (id: string): boolean => {
    const at = waiting.findIndex(({ permission_id }) => permission_id === id);
    if (at < 0) return false;
    waiting.splice(at, 1);
    if (at === 0) shown = null;
    if (at === 0 && live()) announce();
    return true;
  };
  const settle = async (request: Request, said: PermissionAnswer) => {
    drop(request.permission_id);
    if (!(await answer(request.permission_id, said, request.shown)))
      screen.print(`${style.yellow("somebody else answered first")}\n`);
  };

  return {
    /** The possible answers to the question on the screen; empty while a key would not count yet; null without a question. */
    get choices(): string | null {
      const [first] = waiting;
      if (!first) return null;
      if (shown?.request !== first || clock() < countsFrom) return "";
      const extras = [
        `${EXTRAS.reason} no, because…`,
        ...(shown.isFolded ? [`${EXTRAS.all} view all`] : []),
        EXTRAS.help,
      ];
      return `${permissionWords(first.options)}  ${style.dim(extras.join(" · "))}`;
    },
    /** Shows the first waiting question. */
    announce,
    apply(record: SessionRecord) {
      if (record.type === "permission_request") {
        waiting.push(record.metadata);
        if (waiting.length === 1 && live()) announce();
      } else if (record.type === "permission_resolved") {
        const { permission_id, decision, by } = record.metadata;
        if (!drop(permission_id) || !live()) return;
        screen.print(`  ${style.dim(by === "client" ? `answered elsewhere: ${decision}` : decision)}\n`);
      }
    },
    /** Takes a key or a word. Ignores anything that is not an answer. */
    async reply(text: string) {
      if (!shown || waiting[0] !== shown.request) return;
      if (clock() < countsFrom || text === "") {
        countsFrom = Math.max(countsFrom, clock() + (size() ? PAUSE_MS : 0));
        return;
      }
      const { request, lines } = shown;
      const said = text.trim();
      if (said === EXTRAS.help)
        for (const line of explainAnswers(request)) screen.print(`${wrap(line, size()?.columns, "  ")}\n`);
      else if (said === EXTRAS.all) {
        shown.isFolded = false;
        screen.print(lines.map((line) => `${line}\n`).join(""));
      } else if (said === EXTRAS.reason && request.options.includes("deny")) {
        const reason = (await screen.ask("why not?"))?.trim();
        if (reason && waiting[0] === request) await settle(request, { decision: "deny", reason });
      } else {
        const meant = parseAnswer(said, request);
        if (meant) await settle(request, meant);
      }
    },
  };
}
