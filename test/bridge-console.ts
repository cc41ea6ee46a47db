// The example's receiver as a process, and a page of it without a browser.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { repositoryRoot } from "./scratch.js";

export const BRIDGE_TOKEN = "a-token-for-tests";

/** Starts it on a free port and gives its address. */
export async function startConsole(): Promise<string> {
  const child = spawn(process.execPath, [join(repositoryRoot, "examples", "bridge-receiver", "start.mjs")], {
    env: { PATH: process.env["PATH"], RECEIVER_TOKEN: BRIDGE_TOKEN, PORT: "0" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const [line] = await once(child.stdout, "data");
  return String(line).trim().split(" ").at(-1)!;
}

interface Question {
  readonly id: string;
  readonly toolCall: { readonly rawInput: unknown };
}

export interface ConsolePage {
  readonly text: () => string;
  readonly questions: ReadonlyMap<string, Question>;
  readonly problems: readonly string[];
  readonly ended: () => boolean;
  say(message: object): void;
}

/** Opens the page of a session by the address that the program was given, and waits until it is live. */
export async function openPage(uiUrl: string): Promise<ConsolePage> {
  const { origin, pathname, hash } = new URL(uiUrl);
  const socket = new WebSocket(`${origin.replace("http", "ws")}/watch/${pathname.split("/").at(-1)}`);
  const questions = new Map<string, Question>();
  const problems: string[] = [];
  let text = "";
  let attached = false;
  let ended = false;
  // biome-ignore lint/suspicious/noExplicitAny: the page tells messages apart by their type.
  const hear: Record<string, (message: any) => void> = {
    state: (message) => {
      attached = message.attached;
    },
    entry: ({ entry }) => {
      if (entry.update.sessionUpdate === "agent_message_chunk") text += entry.update.content.text;
    },
    question: ({ question }) => questions.set(question.id, question),
    settled: ({ id }) => questions.delete(id),
    problem: (message) => problems.push(message.text),
    ended: () => {
      ended = true;
    },
  };
  const say = (message: object) => socket.send(JSON.stringify(message));
  socket.on("message", (data) => {
    const message = JSON.parse(String(data));
    hear[message.type]?.(message);
  });
  onTestFinished(() => socket.terminate());
  await once(socket, "open");
  say({ key: hash.slice(1), since: 0 });
  await until(() => attached);
  return { text: () => text, questions, problems, ended: () => ended, say };
}

/** Waits for what another process brings about. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await condition()); tries++) {
    if (tries > 600) throw new Error(`waited too long for ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
