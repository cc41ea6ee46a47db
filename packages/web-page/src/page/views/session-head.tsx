/** What a session is and runs with: title, state, context and cost, mode, model, who else is there, and what can be done with it. */

import { MODES } from "@chimera/acp-schema/conversation";
import type { ClientsReply, SettingsBody, SettingsReply } from "@chimera/acp-schema/http";
import { effect, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { attempt, client } from "../server/client.js";
import { titleOf } from "../server/notify.js";
import { rowOf } from "../server/rows.js";
import type { OpenedSession } from "../session/opened.js";
import { agents, models, readChoices } from "./choices.js";
import { dollars, tokens } from "./figures.js";
import { useFold } from "./fold.js";
import { RewindButtons } from "./rewind.js";
import { addressOf } from "./route.js";
import { SessionMenu } from "./session-menu.js";

/** How often the page reads which clients are attached. */
const CLIENTS_MS = 10_000;

export function SessionHead({ session }: { readonly session: OpenedSession }) {
  const { id } = session;
  const row = rowOf(id);
  const settings = useSignal<SettingsReply | null>(null);
  const facts = useFold(session, ({ conversation }) => ({ ...conversation.facts }));
  const changedSettings = useFold(session, ({ conversation }) => conversation.settings);
  const engineOptions = useFold(session, ({ conversation }) => conversation.facts.engineOptions);
  const change = async (body: SettingsBody) => {
    const changed = await attempt(() => client.call("PATCH /sessions/{id}", { id, body }));
    if (changed) settings.value = changed;
  };
  useEffect(() => {
    void readChoices();
    // The answer says what is in force, also what the log does not; the fold gives new objects when something changed.
    return effect(() => {
      changedSettings.value;
      engineOptions.value;
      void client
        .call("GET /sessions/{id}/settings", { id })
        .then((reply) => {
          settings.value = reply;
        })
        .catch(() => {});
    });
  }, [session]);
  const { title, usage, firstPrompt } = facts.value;
  const name = titleOf({
    title: title ?? row?.title ?? null,
    prompt: firstPrompt ?? row?.prompt ?? null,
    session_id: id,
  });
  const pickers = [
    ["Mode", "mode", MODES.map(itself)],
    ["Model", "model", models.value.map((model) => [model.id, model.name] as const)],
    ["Agent", "agent", agents.value.map(itself)],
  ] as const;
  return (
    <header class="session-head">
      <div class="row">
        <a class="back" href={addressOf({ view: "sessions" })} aria-label="All sessions">
          ←
        </a>
        <h1 title={row?.working_dir ?? undefined}>{name}</h1>
        <SessionMenu id={id} title={name} rename={(next) => void change({ title: next })} />
      </div>
      <div class="row small">
        {usage && usage.size > 0 && (
          <label class="context">
            Context <meter min={0} max={usage.size} high={usage.size * 0.8} value={usage.used} /> {tokens(usage.used)}{" "}
            of {tokens(usage.size)}
          </label>
        )}
        {usage && (
          <span title="Cost of this session">{usage.priced ? dollars(usage.total_usd) : "no price known"}</span>
        )}
        {row?.owner && <span>{`${row.owner}’s${row.shared ? ", shared" : ""}`}</span>}
        <Others id={id} />
        <a href={addressOf({ view: "changes", id })}>Changes</a>
        <RewindButtons session={session} />
      </div>
      {settings.value && (
        <details class="settings small">
          <summary>
            {settings.value.mode} · {settings.value.model} · {settings.value.agent}
          </summary>
          <div class="row">
            {pickers.map(([label, field, among]) => (
              <Choice
                key={field}
                label={label}
                value={settings.value![field]}
                among={among}
                choose={(value) => change({ [field]: value })}
              />
            ))}
            {settings.value.engine_options.map((option) => (
              <Choice
                key={option.id}
                label={option.name}
                value={String(option.value)}
                among={
                  option.choices?.map((one) => [one.id, one.name]) ?? [
                    ["true", "on"],
                    ["false", "off"],
                  ]
                }
                choose={(value) =>
                  change({ options: { [`engine:${option.id}`]: option.choices ? value : value === "true" } })
                }
              />
            ))}
          </div>
        </details>
      )}
    </header>
  );
}

/** A picker; a value that is not offered is there all the same. */
function Choice({
  label,
  value,
  among,
  choose,
}: {
  readonly label: string;
  readonly value: string;
  readonly among: readonly (readonly [id: string, name: string])[];
  readonly choose: (value: string) => void;
}) {
  const isThere = among.some(([one]) => one === value);
  return (
    <label class="choice">
      {label}{" "}
      <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {!isThere && <option value={value}>{value || "as usual"}</option>}
        {among.map(([one, name]) => (
          <option key={one} value={one} selected={one === value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

// --- internal ---

/** A choice whose name is its id. */
const itself = (id: string) => [id, id] as const;

/** The attached clients besides this page. */
function Others({ id }: { readonly id: string }) {
  const clients = useSignal<ClientsReply["clients"]>([]);
  useEffect(() => {
    const look = async () => {
      if (document.visibilityState !== "visible") return;
      const reply = await client.call("GET /sessions/{id}/clients", { id }).catch(() => null);
      if (reply) clients.value = reply.clients;
    };
    void look();
    const timer = setInterval(() => void look(), CLIENTS_MS);
    return () => clearInterval(timer);
  }, [id]);
  const names = clients.value.map(({ name, transport }) => shortName(name) ?? transport);
  return names.length > 1 ? <span class="others">Also here: {withoutOne(names).join(", ")}</span> : null;
}

/** A browser says at length what it is. */
function shortName(name: string | null): string | null {
  if (name === null) return null;
  return /^Mozilla\//.test(name) ? BROWSER : name.slice(0, 40);
}

const BROWSER = "a browser";

/** This page is one of the browsers. */
function withoutOne(names: readonly string[]): string[] {
  const own = names.indexOf(BROWSER);
  return names.filter((_, at) => at !== own);
}
