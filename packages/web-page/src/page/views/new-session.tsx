/** A new session: where it works, what runs it, and its first prompt. */
import { MODES } from "@chimera/acp-schema/conversation";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { attempt, client } from "../server/client.js";
import { rows } from "../server/rows.js";
import { agents, directory, engines, models, readChoices } from "./choices.js";
import { go } from "./route.js";

export function NewSession() {
  const isSending = useSignal(false);
  useEffect(() => void readChoices(), []);
  const start = async (form: HTMLFormElement) => {
    const given = (name: string) => String(new FormData(form).get(name) ?? "").trim();
    const named = Object.fromEntries(
      ["cwd", "engine", "agent", "model", "mode"].flatMap((name) => (given(name) === "" ? [] : [[name, given(name)]])),
    );
    isSending.value = true;
    const made = await attempt(() => client.sessions.start(given("prompt"), named));
    isSending.value = false;
    if (made) go({ view: "session", id: made.id });
  };
  const folders = [...new Set(rows.value.flatMap(({ working_dir }) => working_dir ?? []))].slice(0, 30);
  return (
    <main class="view">
      <h1>New session</h1>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          void start(event.currentTarget);
        }}
      >
        <label>
          Prompt
          <textarea name="prompt" rows={5} required />
        </label>
        <label>
          Directory
          <input name="cwd" list="folders" placeholder={directory.value} autocomplete="off" />
        </label>
        <datalist id="folders">
          {folders.map((folder) => (
            <option value={folder} key={folder} />
          ))}
        </datalist>
        <Picker
          name="engine"
          label="Engine"
          among={engines.value
            .filter(({ installed }) => installed)
            .map((one) => [one.name, `${one.name}: ${one.description}`])}
        />
        <Picker name="agent" label="Agent" among={agents.value.map((agent) => [agent, agent])} />
        <Picker
          name="model"
          label="Model"
          among={models.value.map(({ id, name, active }) => [id, active ? `${name} (usual)` : name])}
        />
        <Picker name="mode" label="Mode" among={MODES.map((mode) => [mode, mode])} />
        <button type="submit" class="main" disabled={isSending.value}>
          Start
        </button>
      </form>
    </main>
  );
}

// --- internal ---

function Picker({
  name,
  label,
  among,
}: {
  readonly name: string;
  readonly label: string;
  readonly among: readonly (readonly [id: string, name: string])[];
}) {
  return (
    <label>
      {label}
      <select name={name}>
        <option value="">as usual</option>
        {among.map(([id, shown]) => (
          <option value={id} key={id}>
            {shown}
          </option>
        ))}
      </select>
    </label>
  );
}
