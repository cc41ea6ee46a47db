/** A question of a tool, with everything it would do in view before it is answered. */
import type { Decision, Metadata } from "@chimera/acp-schema/events";
import { useEffect, useState } from "preact/hooks";
import { attempt, client, isCode } from "../server/client.js";
import { Arguments } from "./tool-call.js";
import { ToolContents } from "./tool-content.js";

export interface Asked {
  readonly sessionId: string;
  readonly permission: Metadata<"permission_request">;
}

const ANSWERS: Readonly<Record<Decision, { readonly label: string; readonly key: string }>> = {
  allow: { label: "Allow", key: "y" },
  always: { label: "Always allow", key: "a" },
  deny: { label: "Deny", key: "n" },
  never: { label: "Always deny", key: "" },
};

/** A key pressed for what was there a moment ago must not answer what has just come. */
const SETTLE_MS = 400;

/** @param keys whether single keys answer it, when no text is being written; with Alt they always do. */
export function Permission({ sessionId, permission, keys }: Asked & { readonly keys?: boolean }) {
  const { permission_id: id, tool, risk, options, content, shown, args } = permission;
  const [sent, setSent] = useState<Decision | null>(null);
  const answer = async (decision: Decision) => {
    setSent(decision);
    const done = await attempt(async () => {
      try {
        await client.sessions.open(sessionId).answer(id, decision, shown === undefined ? {} : { shown });
      } catch (error) {
        // Somebody else was first: the records say who.
        if (!isCode(error, "already_resolved") && !isCode(error, "permission_not_found")) throw error;
      }
      return true;
    });
    if (!done) setSent(null);
  };
  useEffect(() => {
    if (!keys) return;
    const since = performance.now();
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.repeat || performance.now() - since < SETTLE_MS) return;
      if (isWriting(event.target) && !event.altKey) return;
      const pressed = event.altKey ? event.code.replace("Key", "").toLowerCase() : event.key;
      const decision = options.find((option) => ANSWERS[option].key === pressed);
      if (!decision) return;
      event.preventDefault();
      void answer(decision);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [id, keys]);

  const label = `permission-${id}`;
  return (
    <section
      class={`permission risk-${risk}`}
      role="alertdialog"
      aria-labelledby={label}
      aria-describedby={`${label}-what`}
    >
      <h2 id={label}>
        {tool} asks for permission <span class="risk">{risk} risk</span>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls can be reached by keyboard. */}
      <div class="what" id={`${label}-what`} tabIndex={0}>
        {content && content.length > 0 ? <ToolContents content={content} /> : <Arguments args={args} />}
      </div>
      <div class="answers">
        {options.map((option) => (
          <button
            type="button"
            key={option}
            class={option === "allow" ? "main" : ""}
            disabled={sent !== null}
            onClick={() => void answer(option)}
            {...(keys && ANSWERS[option].key && { "aria-keyshortcuts": `Alt+${ANSWERS[option].key.toUpperCase()}` })}
          >
            {ANSWERS[option].label}
            {keys && ANSWERS[option].key && <kbd>{ANSWERS[option].key}</kbd>}
          </button>
        ))}
      </div>
    </section>
  );
}

// --- internal ---

function isWriting(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("textarea, input, select, [contenteditable]") !== null;
}
