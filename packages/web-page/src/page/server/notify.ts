/** Notifies a person who is not looking at the page that a turn has ended or waits. */
import type { SessionRow } from "@chimera/acp-schema/http";
import { signal } from "@preact/signals-core";

/** `unsupported` also where the address is neither secure nor local. */
export const notifying = signal<NotificationPermission | "unsupported">(
  "Notification" in globalThis ? Notification.permission : "unsupported",
);

/** A browser asks the person only after a click. */
export async function askToNotify(): Promise<void> {
  notifying.value = await Notification.requestPermission();
}

export function titleOf({ title, prompt, session_id }: Pick<SessionRow, "title" | "prompt" | "session_id">): string {
  return title || prompt?.split("\n", 1)[0]?.slice(0, 120) || session_id;
}

export function announce(before: SessionRow | undefined, now: SessionRow): void {
  if (notifying.peek() !== "granted" || document.visibilityState === "visible") return;
  const body =
    now.status === "waiting" && before?.status !== "waiting"
      ? "waits for your answer"
      : now.status === "idle" && (before?.status === "running" || before?.status === "waiting")
        ? now.success === false
          ? "has ended with an error"
          : "is done"
        : null;
  if (body === null) return;
  // The newest of a session replaces the one before.
  const shown = new Notification(titleOf(now), { body, tag: now.session_id });
  shown.onclick = () => {
    focus();
    location.hash = `#/s/${encodeURIComponent(now.session_id)}`;
    shown.close();
  };
}
