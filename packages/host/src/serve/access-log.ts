/** One line a request, for whoever asked for every detail. Targets are told without their query, which may hold anything. */
import type { Server } from "node:http";
import type { Log } from "../log/log.js";

export function logRequests(server: Server, log: Log): void {
  let count = 0;
  server.on("request", (request, response) => {
    const started = performance.now();
    const id = `r${++count}`;
    response.once("close", () => {
      const path = request.url?.split("?", 1)[0];
      const ms = Math.round(performance.now() - started);
      log.debug("request", { request: id, method: request.method, path, status: response.statusCode, ms });
    });
  });
}
