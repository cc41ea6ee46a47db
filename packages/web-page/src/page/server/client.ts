/** The page's client of the API it was served by, below whatever path a proxy serves it. */
import { ClientError, createClient } from "@chimera/client";
import { signal } from "@preact/signals-core";
import { isRefused, keepToken, pageToken } from "./sign-in.js";

/** Whether events arrive: `lost` while the server cannot be reached. */
export const link = signal<"connecting" | "live" | "lost">("connecting");
/** Counts up whenever a stream begins: the page then reads the list again, because it missed earlier changes. */
export const connections = signal(0);
/** The last error, for the person; null once they have seen it. */
export const problem = signal<string | null>(null);

export const client = createClient({
  url: new URL(".", document.baseURI).href,
  token: () => pageToken.peek()?.token,
  onRetry: () => {
    link.value = "lost";
  },
  async fetch(input, init) {
    const response = await fetch(input, init);
    if (response.status === 401) isRefused.value = true;
    else if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
      link.value = "live";
      connections.value++;
    }
    return response;
  },
});

/** Runs an action of the person, and shows them the error when it fails. */
export async function attempt<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    problem.value = messageOf(error);
    return null;
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function isCode(error: unknown, code: ClientError["code"]): boolean {
  return error instanceof ClientError && error.code === code;
}

export async function signIn(code: string): Promise<boolean> {
  const token = await attempt(() => client.call("POST /page/tokens", { body: { code: code.trim() } }));
  if (!token) return false;
  keepToken(token);
  isRefused.value = false;
  problem.value = null;
  return true;
}

export async function signOut(): Promise<void> {
  const { id } = pageToken.value ?? {};
  if (id !== undefined) await attempt(() => client.call("DELETE /page/tokens/{token_id}", { token_id: id }));
  keepToken(null);
  isRefused.value = true;
}
