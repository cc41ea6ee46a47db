/** Renderings and rollups of past sessions. */
import { HttpError } from "../errors.js";
import type { Handler, Handlers } from "./route.js";

const unavailable: Handler = () => {
  throw new HttpError(501, "not_available", "reports are not built in");
};

export function reportRoutes() {
  return {
    "GET /sessions/{id}/transcript": unavailable,
    "POST /sessions/{id}/share": unavailable,
    "GET /runs": unavailable,
    "GET /runs/cost": unavailable,
  } satisfies Handlers;
}
