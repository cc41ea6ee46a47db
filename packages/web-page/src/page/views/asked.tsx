/** The requests for the person's answer: a tool's permission, showing everything the tool would do, or a question of the agent. */
import { DECISION_OF } from "@chimera/acp-schema/conversation";
import type { Decision, Metadata } from "@chimera/acp-schema/events";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { attempt, client, isCode } from "../server/client.js";
import { titleOf } from "../server/notify.js";
import { waiting } from "../server/rows.js";
import { addressOf } from "./route.js";
import { Arguments } from "./tool-call.js";
import { Terminal, ToolContents } from "./tool-content.js";

export type Asked = Metadata<"permission_request"> | Metadata<"question_asked">;

export const idOf = (asked: Asked): string => ("question" in asked ? asked.question_id : asked.permission_id);

/** @param keys whether single keys answer it, when no text is being written; with Alt they always do. */
export function AskedView(props: { readonly sessionId: string; readonly asked: Asked; readonly keys?: boolean }) {
  const { asked, ...rest } = props;
  return "question" in asked ? <Question question={asked} {...rest} /> : <Permission permission={asked} {...rest} />;
}

/** The unanswered requests of all sessions. */
export function Approvals() {
  return (
    <main class="view">
      <h1>Waiting for an answer</h1>
      {waiting.value.length === 0 && <p class="empty">Nothing waits.</p>}
      {waiting.value.map(({ row, asked }) => (
        <article class="approval" key={idOf(asked)}>
          <a href={addressOf({ view: "session", id: row.session_id })}>{titleOf(row)}</a>{" "}
          <span class="about">{row.working_dir}</span>
          <AskedView sessionId={row.session_id} asked={asked} />
        </article>
      ))}
    </main>
  );
}

// --- internal ---

interface Common {
  readonly sessionId: string;
  readonly keys?: boolean;
}

interface Answer {
  readonly label: string;
  readonly key: string;
  readonly isMain: boolean;
  send(): Promise<unknown>;
}

/** As the session names them where it offers wider answers too. */
const ANSWERS: Readonly<Record<Decision, { readonly label: string; readonly key: string }>> = {
  allow: { label: "Allow once", key: "y" },
  always: { label: "Always allow this exact call", key: "a" },
  deny: { label: "Reject", key: "n" },
  never: { label: "Always reject this exact call", key: "" },
};

/** Where a question has no choices of its own, a decision stands in their place. */
const DECISIONS: Readonly<Record<string, Decision>> = DECISION_OF;

function Permission({ sessionId, permission, keys }: Common & { readonly permission: Metadata<"permission_request"> }) {
  const { permission_id: id, tool, risk, options, choices, content, shown, args } = permission;
  const answers = (choices ?? options.map((option) => ({ id: undefined, name: "", kind: option }))).map(
    ({ id: choice, name, kind }, _at, all): Answer => {
      const decision = DECISIONS[kind] ?? (kind as Decision);
      const isOnly = all.filter((one) => one.kind === kind).length === 1;
      return {
        label: name || ANSWERS[decision].label,
        // A key does not choose between several answers of a kind.
        key: isOnly ? ANSWERS[decision].key : "",
        isMain: decision === "allow",
        send: () =>
          client.sessions.open(sessionId).answer(id, decision, {
            ...(shown !== undefined && { shown }),
            ...(choice !== undefined && { choice }),
          }),
      };
    },
  );
  return (
    <Asking id={id} title={`${tool} asks for permission`} risk={risk} answers={answers} keys={keys}>
      {content && content.length > 0 ? <ToolContents content={content} /> : <Arguments args={args} />}
    </Asking>
  );
}

function Question({ sessionId, question, keys }: Common & { readonly question: Metadata<"question_asked"> }) {
  const { question_id: qid, question: text, options } = question;
  const [words, setWords] = useState("");
  const send = (answer: string | null) =>
    client.call("POST /sessions/{id}/questions/{qid}", { id: sessionId, qid, body: { answer } });
  const named = options.map(
    ({ name }, at): Answer => ({ label: name, key: at < 9 ? `${at + 1}` : "", isMain: false, send: () => send(name) }),
  );
  const own = { label: "Answer", key: "", isMain: true, send: () => send(words.trim()) };
  const none = { label: "No answer", key: "", isMain: false, send: () => send(null) };
  const answers = [...named, ...(words.trim() === "" ? [] : [own]), none];
  return (
    <Asking id={qid} title="The agent asks" risk="low" answers={answers} keys={keys}>
      <Terminal
        text={[text, ...options.map(({ name, description }) => description && `${name}: ${description}`)]
          .filter(Boolean)
          .join("\n")}
      />
      <textarea
        aria-label="Your answer"
        placeholder="Or in your own words"
        rows={2}
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
    </Asking>
  );
}

/** A key pressed for what was there a moment ago must not answer what has just come. */
const SETTLE_MS = 400;

function Asking(props: {
  readonly id: string;
  readonly title: string;
  readonly risk: string;
  readonly answers: readonly Answer[];
  readonly keys: boolean | undefined;
  readonly children: ComponentChildren;
}) {
  const { id, title, risk, answers, keys, children } = props;
  const [isSent, setSent] = useState(false);
  const answer = async ({ send }: Answer) => {
    setSent(true);
    const done = await attempt(async () => {
      // Another client answered first: the records say which.
      await send().catch((error) => {
        if (!GONE.some((code) => isCode(error, code))) throw error;
      });
      return true;
    });
    if (!done) setSent(false);
  };
  useEffect(() => {
    if (!keys) return;
    const since = performance.now();
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.repeat || performance.now() - since < SETTLE_MS) return;
      if (isWriting(event.target) && !event.altKey) return;
      const pressed = event.altKey ? event.code.replace(/Key|Digit/, "").toLowerCase() : event.key;
      const chosen = answers.find(({ key }) => key !== "" && key === pressed);
      if (!chosen) return;
      event.preventDefault();
      void answer(chosen);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [id, keys]);

  const label = `asked-${id}`;
  return (
    <section
      class={`permission risk-${risk}`}
      role="alertdialog"
      aria-labelledby={label}
      aria-describedby={`${label}-what`}
    >
      <h2 id={label}>
        {title} {risk !== "low" && <span class="risk">{risk} risk</span>}
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls can be reached by keyboard. */}
      <div class="what" id={`${label}-what`} tabIndex={0}>
        {children}
      </div>
      <div class="answers">
        {answers.map((one) => (
          <button
            type="button"
            key={one.label}
            class={one.isMain ? "main" : ""}
            disabled={isSent}
            onClick={() => void answer(one)}
            {...(keys && one.key && { "aria-keyshortcuts": `Alt+${one.key.toUpperCase()}` })}
          >
            {one.label}
            {keys && one.key && <kbd>{one.key}</kbd>}
          </button>
        ))}
      </div>
    </section>
  );
}

const GONE = ["already_resolved", "permission_not_found", "question_not_found"] as const;

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("textarea, input, select, [contenteditable]") !== null;
}
