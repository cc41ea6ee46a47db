/** Where the person is: the fragment of the address, so that the page works below any path and a link leads to its place. */
import { computed, signal } from "@preact/signals";

export type Route =
  | { readonly view: "sessions" | "new" | "approvals" | "runs" }
  | { readonly view: "session" | "changes"; readonly id: string };

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const route = computed((): Route => {
  const [view = "", id = "", part] = hash.value.replace(/^#\/?/, "").split("/");
  if (view === "s" && id !== "") return { view: part === "changes" ? "changes" : "session", id: decode(id) };
  return { view: view === "new" || view === "approvals" || view === "runs" ? view : "sessions" };
});

export function addressOf(place: Route): string {
  if (!("id" in place)) return place.view === "sessions" ? "#/" : `#/${place.view}`;
  return `#/s/${encodeURIComponent(place.id)}${place.view === "changes" ? "/changes" : ""}`;
}

export function go(place: Route): void {
  location.hash = addressOf(place);
}

// --- internal ---

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
