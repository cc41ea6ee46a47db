/** Every question that waits for an answer, of whatever session. */
import { titleOf } from "../server/notify.js";
import { waiting } from "../server/rows.js";
import { Permission } from "./permission.js";
import { addressOf } from "./route.js";

export function Approvals() {
  return (
    <main class="view">
      <h1>Waiting for an answer</h1>
      {waiting.value.length === 0 && <p class="empty">Nothing waits.</p>}
      {waiting.value.map(({ row, permission }) => (
        <article class="approval" key={permission.permission_id}>
          <a href={addressOf({ view: "session", id: row.session_id })}>{titleOf(row)}</a>{" "}
          <span class="about">{row.working_dir}</span>
          <Permission sessionId={row.session_id} permission={permission} />
        </article>
      ))}
    </main>
  );
}
