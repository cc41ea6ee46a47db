/** Binds a server to a Unix socket that only its own user can open. */
import { lstat, unlink } from "node:fs/promises";
import { connect, type Server, type Socket } from "node:net";

/** Replaces a socket on which no program answers. Throws EADDRINUSE if one answers, and EEXIST for a file that is not a socket. */
export async function bindPath(server: Server, path: string): Promise<void> {
  const there = await lstat(path).catch(() => null);
  if (there && !there.isSocket()) throw failure("EEXIST", `${path} is there and is not a socket`);
  if (there && (await isAnswered(path))) throw failure("EADDRINUSE", `another program listens on ${path}`);
  if (there) await unlink(path);
  // The mask gives the socket its mode when it is made. With a later `chmod`, any user could connect in between.
  const before = process.umask(0o177);
  try {
    server.listen({ path });
  } finally {
    process.umask(before);
  }
}

/**
 * Calls `onLines` with connections whose first byte is a brace: a message of JSON-RPC begins with one, an HTTP request with a letter.
 * Returns a function that ends the connections that have sent nothing yet. They have no time limit: an editor may start its agent early.
 */
export function splitLines(server: Server, onLines: (socket: Socket) => void): () => void {
  const serveHttp = server.listeners("connection") as ((socket: Socket) => void)[];
  const quiet = new Set<Socket>();
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    quiet.add(socket);
    socket.once("close", () => quiet.delete(socket));
    socket.on("error", () => {});
    socket.once("readable", () => {
      quiet.delete(socket);
      const first: Buffer | null = socket.read(1);
      // The peer has ended its half and said nothing. The server's half stays open until somebody ends it.
      if (first === null) return void socket.destroy();
      socket.unshift(first);
      if (first[0] === BRACE) return onLines(socket);
      for (const serve of serveHttp) serve.call(server, socket);
      // Lets the HTTP reader, which comes only now, read the bytes that have arrived.
      socket.emit("readable");
    });
  });
  return () => {
    for (const socket of quiet) socket.destroy();
  };
}

// --- internal ---

const BRACE = "{".charCodeAt(0);

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" || error.code === "ENOENT") resolve(false);
      else reject(error);
    });
  });
}
