/** The whole page: where one can go, the list, and the view that is chosen. */
import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { link, problem, signIn, signOut } from "../server/client.js";
import { askToNotify, notifying, titleOf } from "../server/notify.js";
import { rowOf, waiting } from "../server/rows.js";
import { isRefused, pageToken } from "../server/sign-in.js";
import { addressOf, type Route, route } from "./route.js";
import { SessionList } from "./session-list.js";

export function App() {
  const place = route.value;
  useEffect(() => {
    const row = "id" in place ? rowOf(place.id) : undefined;
    const count = waiting.value.length;
    document.title = `${count > 0 ? `(${count}) ` : ""}${row ? titleOf(row) : "Sessions"}`;
  });
  if (isRefused.value) {
    return (
      <>
        <Problem />
        <SignInView />
      </>
    );
  }
  return (
    <div class={`app at-${place.view}`}>
      <header class="top">
        <nav aria-label="Page">
          <Go to="sessions">Sessions</Go>
          <Go to="new">New</Go>
          <Go to="approvals">
            Approvals{waiting.value.length > 0 && <span class="badge waiting">{waiting.value.length}</span>}
          </Go>
          <Go to="runs">Runs</Go>
        </nav>
        <span class={`link ${link.value}`} role="status">
          {link.value === "lost" ? "Connection lost, trying again" : ""}
        </span>
        {notifying.value === "default" && (
          <button type="button" onClick={() => void askToNotify()}>
            Notify me
          </button>
        )}
        {pageToken.value && (
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
      </header>
      <Problem />
      <SessionList />
      <View place={place} />
    </div>
  );
}

// --- internal ---

type Views = typeof import("./opened.js");

const views = signal<Views | null>(null);

function loadViews(): void {
  if (views.peek()) return;
  import("./opened.js").then(
    (module) => {
      views.value = module;
    },
    () => {
      problem.value = "A part of the page could not be loaded: reload it.";
    },
  );
}

function View({ place }: { readonly place: Route }) {
  // Also from the list: a session is what is opened next.
  useEffect(loadViews, []);
  if (place.view === "sessions") {
    return (
      <main class="view welcome">
        <h1>Sessions</h1>
        <p>
          Choose one, or <a href={addressOf({ view: "new" })}>start a new one</a>.
        </p>
      </main>
    );
  }
  if (!views.value) return <main class="view" aria-busy="true" />;
  const { Approvals, Changes, NewSession, Runs, SessionView } = views.value;
  switch (place.view) {
    case "session":
      return <SessionView id={place.id} />;
    case "changes":
      return <Changes id={place.id} key={place.id} />;
    case "new":
      return <NewSession />;
    case "approvals":
      return <Approvals />;
    case "runs":
      return <Runs />;
  }
}

function Go({
  to,
  children,
}: {
  readonly to: Exclude<Route, { id: string }>["view"];
  readonly children: preact.ComponentChildren;
}) {
  return (
    <a href={addressOf({ view: to })} {...(route.value.view === to && { "aria-current": "page" as const })}>
      {children}
    </a>
  );
}

function Problem() {
  return (
    <div role="alert" class="problem">
      {problem.value !== null && (
        <p>
          {problem.value}{" "}
          <button
            type="button"
            onClick={() => {
              problem.value = null;
            }}
          >
            Dismiss
          </button>
        </p>
      )}
    </div>
  );
}

/** The view for a person whose token the server does not accept. */
function SignInView() {
  const isSending = useSignal(false);
  return (
    <main class="view">
      <h1>Sign in</h1>
      <p>
        The server prints an address with a code when it starts. Open that address, or write the code here. A code works
        once.
      </p>
      <form
        class="fields"
        onSubmit={async (event) => {
          event.preventDefault();
          const code = String(new FormData(event.currentTarget).get("code") ?? "");
          isSending.value = true;
          await signIn(code.replace(/^.*#code=/, ""));
          isSending.value = false;
        }}
      >
        <label>
          Code
          <input name="code" autocomplete="off" spellcheck={false} required />
        </label>
        <button type="submit" class="main" disabled={isSending.value}>
          Sign in
        </button>
      </form>
    </main>
  );
}
