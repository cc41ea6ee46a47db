/** Everything that waits for an answer, of whatever session. */
import { titleOf } from "../server/notify.js";
import { waiting } from "../server/rows.js";
import { AskedView, idOf } from "./asked.js";
import { addressOf } from "./route.js";

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
