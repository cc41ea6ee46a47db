/** A channel over a WebSocket. Each text frame is one message. */
import { createBackPressure, frameOf, type Line, type LineChannel } from "@chimera/ndjson-rpc";
import type { WebSocket } from "ws";
import { LIMITS } from "../limits.js";

export function socketChannel(socket: WebSocket): LineChannel {
  let inFlight = 0;
  let receive: (line: Line) => void = () => {};
  let done: Parameters<LineChannel["onClose"]>[0] = () => {};
  let isGreeted = false;
  let isAlive = true;
  const { drained, settle } = createBackPressure(
    () => socket.readyState !== socket.OPEN || inFlight < LIMITS.acpHighBytes,
  );
  const watch = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, LIMITS.keepAliveMs);
  const noteAlive = () => {
    isAlive = true;
  };
  socket.on("pong", noteAlive);
  /** The newest ping without an answer. A pong for each would fill the memory while the peer does not read. */
  let pinged: Buffer | undefined;
  const answerPing = () => {
    if (pinged === undefined || socket.bufferedAmount >= LIMITS.acpHighBytes) return;
    socket.pong(pinged, undefined, answerPing);
    pinged = undefined;
  };
  socket.on("ping", (data) => {
    noteAlive();
    pinged = data;
    answerPing();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    clearInterval(watch);
    settle();
    done("input_ended");
    done("output_failed");
  });
  socket.on("message", (data: Buffer, isBinary: boolean) => {
    noteAlive();
    if (isBinary) return;
    const text = data.toString("utf8");
    if (!isGreeted) {
      const first = frameOf(text, LIMITS.bodyDepth);
      isGreeted = first.kind === "request" && first.method === "initialize";
      if (!isGreeted && first.kind !== "invalid") return socket.close(1002, "the first message is initialize");
    }
    receive(text);
  });
  return {
    send(line) {
      if (socket.readyState !== socket.OPEN) return;
      inFlight += line.length;
      socket.send(line, () => {
        inFlight -= line.length;
        settle();
        answerPing();
      });
    },
    get bufferedBytes() {
      return inFlight;
    },
    drained,
    pause: (on) => (on ? socket.pause() : socket.resume()),
    onLine(given) {
      receive = given;
    },
    onClose(given) {
      done = given;
    },
    async close() {
      socket.resume();
      socket.close(1001);
      const cut = setTimeout(() => socket.terminate(), LIMITS.socketFarewellMs).unref();
      socket.once("close", () => clearTimeout(cut));
    },
  };
}
