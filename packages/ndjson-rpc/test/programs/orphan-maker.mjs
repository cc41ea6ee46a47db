// Starts the server with a stdin that outlives this process, prints the server's pid, and dies.
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const server = fileURLToPath(new URL("./echo-server.mjs", import.meta.url));
const child = spawn(process.execPath, [server], { stdio: ["inherit", "ignore", "inherit"], detached: true });
process.stdout.write(`${child.pid}\n`, () => process.exit(0));
