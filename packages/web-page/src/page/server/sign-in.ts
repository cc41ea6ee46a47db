/** The page's sign-in: it exchanges a one-time code for a token of its own, which it keeps while its tab is open. */
import { signal } from "@preact/signals-core";

interface PageToken {
  readonly id: string;
  readonly token: string;
}

const KEY = "chimera.page";

/** Null when the server needs no token, or the person has not signed in yet. */
export const pageToken = signal<PageToken | null>(read());
/** The server refuses what the page sends: it has to sign in. */
export const isRefused = signal(false);

export function keepToken(token: PageToken | null): void {
  pageToken.value = token;
  if (token) sessionStorage.setItem(KEY, JSON.stringify({ id: token.id, token: token.token }));
  else sessionStorage.removeItem(KEY);
}

/** The code of the address, which is taken out of it at once: a reload, a bookmark or a shared screen must not show it. */
export function takeCode(): string | null {
  const code = /^#code=([\w.~-]{1,200})$/.exec(location.hash)?.[1] ?? null;
  if (code !== null) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

// --- internal ---

function read(): PageToken | null {
  try {
    const { id, token } = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    return typeof id === "string" && typeof token === "string" ? { id, token } : null;
  } catch {
    return null;
  }
}
