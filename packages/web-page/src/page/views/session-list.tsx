/** All sessions: what they are, what they do, what they cost; found by their words. */
import type { SearchReply, SessionRow } from "@chimera/acp-schema/http";
import { useSignal } from "@preact/signals";
import { attempt, client } from "../server/client.js";
import { titleOf } from "../server/notify.js";
import { isListed, nextPage, readRows, rows } from "../server/rows.js";
import { ago, dollars } from "./figures.js";
import { addressOf, route } from "./route.js";

export function SessionList() {
  const sought = useSignal("");
  const hits = useSignal<SearchReply["hits"] | null>(null);
  const search = async () => {
    const q = sought.value.trim();
    const reply = q === "" ? null : await attempt(() => client.call("GET /search", { query: { q } }));
    hits.value = reply?.hits ?? null;
  };
  const shown = rows.value.filter((row) => isAbout(row, sought.value));
  return (
    <nav class="list" aria-label="Sessions">
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          void search();
        }}
      >
        <input
          type="search"
          aria-label="Search sessions"
          placeholder="Search (Enter: also inside)"
          value={sought.value}
          onInput={(event) => {
            sought.value = event.currentTarget.value;
            hits.value = null;
          }}
        />
      </form>
      {hits.value && (
        <ul aria-label="Found in conversations">
          {hits.value.map((hit) => (
            <li key={hit.session_id}>
              <a href={addressOf({ view: "session", id: hit.session_id })}>
                <span class="title">{hit.title || hit.session_id}</span>
                <span class="about">{hit.excerpt}</span>
              </a>
            </li>
          ))}
          {hits.value.length === 0 && <li class="empty">No conversation has these words.</li>}
        </ul>
      )}
      <ul>
        {shown.map((row) => (
          <Row row={row} key={row.session_id} />
        ))}
      </ul>
      {isListed.value && shown.length === 0 && (
        <p class="empty">{rows.value.length === 0 ? "No sessions yet." : "None of these."}</p>
      )}
      {nextPage.value !== null && (
        <button type="button" onClick={() => void attempt(() => readRows(nextPage.value ?? undefined))}>
          Older sessions
        </button>
      )}
    </nav>
  );
}

// --- internal ---

const STATES = { idle: "", running: "running", waiting: "waits for you" } as const;

function Row({ row }: { readonly row: SessionRow }) {
  const { session_id: id, status, success, working_dir, engine, owner, cost_usd, last_touched } = row;
  const place = route.value;
  const isHere = "id" in place && place.id === id;
  const state = STATES[status] || (success === false ? "failed" : "");
  return (
    <li>
      <a href={addressOf({ view: "session", id })} {...(isHere && { "aria-current": "page" as const })}>
        <span class="title">{titleOf(row)}</span>
        {state && <span class={`badge ${status} ${success === false ? "failed" : ""}`}>{state}</span>}
        <span class="about">
          {[working_dir?.split(/[\\/]/).at(-1), engine, owner, cost_usd ? dollars(cost_usd) : null, ago(last_touched)]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </a>
    </li>
  );
}

function isAbout(row: SessionRow, words: string): boolean {
  const text = [row.title, row.prompt, row.working_dir, row.session_id, row.engine].join("\n").toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
