/** The run API: one prompt, answered when it is done, at once, or as it goes. Nobody is there to approve, so what needs it is denied. */
import type { CreateRunBody, Run } from "@chimera/acp-schema/http";
import type { Session } from "@chimera/session";
import { keyOf } from "../creations.js";
import { HttpError } from "../http-error.js";
import { LIMITS } from "../limits.js";
import { readBody } from "../request/body.js";
import { createRunFold, streamRun } from "../run.js";
import { streamArray } from "../stream/text-body.js";
import { requireManifest } from "./program.js";
import { type Handlers, type Parts, pathPart } from "./route.js";

export function agentRunRoutes({ deps, openSession, creations, streams }: Parts) {
  const { sessions } = deps;

  const requireRun = async (id: string): Promise<void> => {
    const known = sessions.find(id) ?? (await sessions.logs.has(id).catch(() => false));
    if (!known) throw new HttpError(404, "run_not_found", `there is no run ${id}`);
  };

  const readRun = async (id: string): Promise<Run> => {
    await requireRun(id);
    const fold = createRunFold(id, deps.name);
    for await (const entry of sessions.logs.read(id)) if (entry.type !== "text_delta") fold.apply(entry);
    if (!fold.run) throw new HttpError(404, "run_not_found", `there is no run ${id}`);
    return fold.run;
  };

  const start = async ({ agent_name, input }: CreateRunBody, key: string | undefined): Promise<Session> => {
    await requireManifest(deps, agent_name);
    const text = input.flatMap((message) => message.parts.map((part) => part.content)).join("\n");
    if (text.trim() === "") throw new HttpError(400, "missing_prompt", "input has no text");
    const { id } = await creations.once(key, async () => {
      const session = await sessions.create({ cwd: deps.defaultCwd });
      if (agent_name !== deps.name) await session.set({ agent: agent_name });
      await session.prompt({ text, key }).durable;
      return session.id;
    });
    const session = await sessions.load(id);
    if (session.conversation.turns[0]?.prompt.text === text) return session;
    throw new HttpError(422, "key_reused", "another run was made with this key");
  };

  return {
    "POST /runs": async (c) => {
      const body = await readBody(c, "POST /runs", { input: "invalid_input", agent_name: "missing_agent_name" });
      if (body.mode === "async") return c.json(await readRun((await start(body, keyOf(c))).id), 202);
      const leave = await streams.enter(sessions, c.get("caller"));
      try {
        const session = await start(body, keyOf(c));
        if (body.mode === "stream") return streamRun(c, session.id, deps, leave);
        await session.idle();
        const run = c.json(await readRun(session.id));
        leave();
        return run;
      } catch (error) {
        leave();
        throw error;
      }
    },

    "GET /runs/{run_id}": async (c) => c.json(await readRun(pathPart(c, "run_id"))),

    "POST /runs/{run_id}/cancel": async (c) => {
      const id = pathPart(c, "run_id");
      await openSession.requireHere(id);
      const session = sessions.find(id);
      if (session?.cancel()) await Promise.race([session.idle(), settled(LIMITS.farewellMs)]);
      return c.json(await readRun(id));
    },

    "GET /runs/{run_id}/events": async (c) => {
      const id = pathPart(c, "run_id");
      await requireRun(id);
      const events = async function* () {
        const fold = createRunFold(id, deps.name);
        for await (const entry of sessions.logs.read(id)) {
          const event = fold.apply(entry);
          if (event) yield JSON.stringify(event);
        }
      };
      return streamArray(c, deps.log, { head: '{"events":[', members: events(), tail: "]}" });
    },
  } satisfies Handlers;
}

// --- internal ---

function settled(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
