/** Transcripts, shares, the list of runs and their cost. */
import type { RunsCostReply, RunsReply, ShareReply } from "@chimera/acp-schema/http";
import type { Context } from "hono";
import type { AppEnv } from "../deps.js";
import { HttpError } from "../http-error.js";
import { readBody } from "../request/body.js";
import { readQuery, requirePageEnd } from "../request/query.js";
import { streamText } from "../stream/text-body.js";
import { withReports } from "../with-reports.js";
import { type Handlers, pathPart, type RouteDeps } from "./route.js";

const SHARE_FIELDS = {
  sink: "invalid_sink",
  format: "invalid_format",
  url: "invalid_url",
  path: "invalid_path",
} as const;

export function reportRoutes({ deps, clock }: RouteDeps) {
  const { sessions } = deps;
  /** Tokens to remove from transcripts. The tokens of sessions are known only by digest, so they cannot be searched for. */
  const secrets = deps.authToken === undefined ? [] : [deps.authToken];
  const runs = { list: sessions.listAll };
  const query = (
    c: Context<AppEnv>,
    route: "GET /runs" | "GET /runs/cost",
    parseLimit: (text?: string) => number | null,
  ) => {
    const { since = null, model = null, limit, after } = readQuery(c, route);
    requirePageEnd(after);
    return { now: clock(), since, model, limit: parseLimit(limit), ...(after !== undefined && { after }) };
  };

  return {
    "GET /sessions/{id}/transcript": (c) =>
      withReports(async ({ openTranscript, parseFormat, renderTranscript, contentType, TRANSCRIPT_CSP }) => {
        const format = parseFormat(c.req.query("format"));
        const id = pathPart(c, "id");
        const source = await openTranscript(sessions.logs, id);
        return streamText(c, deps.log, renderTranscript(source, { format, secrets }), {
          "Content-Type": contentType(format),
          ...(format === "html" && { "Content-Security-Policy": TRANSCRIPT_CSP }),
        });
      }),

    "POST /sessions/{id}/share": async (c) => {
      const { sink, format = "html", url } = await readBody(c, "POST /sessions/{id}/share", SHARE_FIELDS);
      if (sink === "file" && deps.sharesDirectory === undefined) {
        throw new HttpError(400, "invalid_sink", "this server keeps no shares in files");
      }
      return withReports(async ({ openTranscript, share }) => {
        const id = pathPart(c, "id");
        const shared = await share(await openTranscript(sessions.logs, id), {
          sink,
          format,
          root: deps.sharesDirectory ?? "",
          url: url ?? deps.shareUrl ?? null,
          // The operator's address may be any host. A caller's address may not be in the server's own network.
          trusted: url === undefined,
          secrets,
          signal: c.req.raw.signal,
        });
        return c.json(shared satisfies ShareReply);
      });
    },

    "GET /runs": (c) =>
      withReports(async ({ listRuns, parseLimit }) => {
        const reply: RunsReply = await listRuns(runs, query(c, "GET /runs", parseLimit));
        return c.json(reply);
      }, "runs_list_failed"),

    "GET /runs/cost": (c) =>
      withReports(async ({ costRollup, parseLimit }) => {
        const reply: RunsCostReply = await costRollup(runs, query(c, "GET /runs/cost", parseLimit));
        return c.json(reply);
      }, "runs_cost_failed"),
  } satisfies Handlers;
}
