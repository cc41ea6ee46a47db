/** What the person typed, on its way to the session: one entry at a time. Those that were typed while a turn ran wait for its end. */
import type { SessionRecord } from "@chimera/acp-schema/events";
import type { SessionClient } from "../client/client.js";
import type { createTurns } from "./turns.js";

type Prompt = Parameters<SessionClient["prompt"]>[0];

interface EntriesOptions {
  readonly turns: Pick<ReturnType<typeof createTurns>, "busy" | "send">;
  readonly prompt: SessionClient["prompt"];
  /** Shows an entry when its time has come. */
  readonly show: (text: string) => void;
  /** Runs an entry that is a command of the conversation. Returns what to send to the session, or null. */
  readonly read: (text: string) => Promise<Prompt | null>;
  /** Whether an entry must wait although no turn runs. */
  readonly isHeld: () => boolean;
  readonly complain: (error: Error) => void;
  readonly changed: () => void;
}

export function createEntries({ turns, prompt, show, read, isHeld, complain, changed }: EntriesOptions) {
  /** They are sent one by one, each when a turn has ended. */
  const queued: string[] = [];
  /** Prompts that were shown when the person typed them, so that their records are not shown again. */
  const echoed: string[] = [];
  let entering = 0;

  const isBusy = () => turns.busy || entering > 0;

  /** Sends the next entry if no turn is running. */
  function sendNext(): void {
    const next = isBusy() || isHeld() ? undefined : queued.shift();
    if (next !== undefined) void enter(next);
  }

  async function enter(text: string): Promise<void> {
    entering++;
    show(text);
    try {
      const input = await read(text);
      if (input !== null) await send(input);
    } catch (error) {
      complain(error as Error);
    } finally {
      entering--;
      sendNext();
      changed();
    }
  }

  async function send(input: Prompt): Promise<void> {
    echoed.push(input.text);
    await turns
      .send(() => prompt(input))
      .catch((error: unknown) => {
        if (echoed.at(-1) === input.text) echoed.pop();
        throw error;
      });
  }

  return {
    /** Whether a turn is running or an entry is on its way. */
    get isBusy() {
      return isBusy();
    },
    /** The entries that wait. */
    queued: queued as readonly string[],
    add(text: string): void {
      if (isBusy()) queued.push(text);
      else void enter(text);
    },
    sendNext,
    /** Removes and returns the last entry that waits. */
    takeBack: () => queued.pop() ?? null,
    /** Removes and returns all that wait. */
    takeAll: () => queued.splice(0),
    /** Whether a record is of a prompt that the person sees already. */
    isEcho({ type, metadata }: SessionRecord): boolean {
      const isNext = type === "user_message" && echoed[0] === metadata.text;
      if (isNext) echoed.shift();
      return isNext;
    },
  };
}
