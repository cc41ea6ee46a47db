// A client over the IPC of a child process, as vscode-jsonrpc speaks it.
import { createMessageConnection, IPCMessageReader, IPCMessageWriter } from "vscode-jsonrpc/node";

const connection = createMessageConnection(new IPCMessageReader(process), new IPCMessageWriter(process));
let count = 0;
connection.onNotification("number", ({ n }) => {
  count += n === count ? 1 : 0;
});
connection.onRequest("name", () => "child");
connection.listen();
const answer = await connection.sendRequest("count", { to: 1000 });
process.stdout.write(`${JSON.stringify(answer)} ${count}\n`);
connection.dispose();
process.disconnect();
