// The floor of a start: the least a Node program can do to answer a request on stdin.
process.stdin.setEncoding("utf8").once("data", (line) => {
  const { id } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion: 1 } })}\n`);
});
