/** Sessions and their event streams. */
import { isAbsolute } from "node:path";
import { parseCursor } from "@chimera/event-store";
import { Hono } from "hono";
import * as v from "valibot";
import type { AppDeps, AppEnv } from "../deps.js";
import { HttpError } from "../errors.js";
import { streamEvents } from "../stream/events.js";

const NewSession = v.object({ prompt: v.string(), cwd: v.optional(v.string()), persist: v.optional(v.boolean()) });

export function sessionRoutes(deps: AppDeps): Hono<AppEnv> {
  const { sessions } = deps;
  return new Hono<AppEnv>()
    .post("/sessions", async (c) => {
      const body = v.safeParse(NewSession, await c.req.json().catch(() => null));
      if (!body.success) throw new HttpError(400, "missing_prompt", "the body needs a prompt");
      const { prompt, cwd = deps.defaultCwd, persist = true } = body.output;
      if (!isAbsolute(cwd)) throw new HttpError(400, "invalid_cwd", "cwd must be an absolute path");
      const session = await sessions.create({ cwd, persist });
      session.attach({ approves: true });
      await session.prompt({ text: prompt }).durable;
      return c.json({ session_id: session.id, status: "running" }, 201);
    })
    .get("/sessions/:id/events", async (c) => {
      const id = c.req.param("id");
      const session = sessions.find(id);
      const store = sessions.storeOf(id);
      if (!session && !(await store.has(id).catch(() => false))) {
        throw new HttpError(404, "session_not_found", `there is no session ${id}`);
      }
      const from = c.req.query("from") === "live" ? "live" : parseCursor(c.req.header("last-event-id"));
      return streamEvents({ id, store, from, sessions, outgoing: c.env.outgoing, signal: c.req.raw.signal });
    });
}
