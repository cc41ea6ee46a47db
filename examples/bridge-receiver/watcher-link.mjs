// One open page: shows its key, says what it has seen, and then sends a few words of JSON.
const HELLO_MS = 5_000;
const MAX_BEHIND = 8 * 1024 * 1024;

export function linkWatcher(socket, board, sameKey) {
  let leave = null;
  const late = setTimeout(() => socket.close(4401, "no key"), HELLO_MS);

  const send = (message) => {
    if (socket.bufferedAmount > MAX_BEHIND) socket.terminate();
    else socket.send(JSON.stringify(message));
  };
  const actions = {
    prompt: ({ text }) => {
      if (typeof text !== "string" || text.trim() === "") return;
      board.prompt(text).catch((error) => send({ type: "problem", text: error.message }));
    },
    answer: ({ id, optionId }) => board.answer(id, optionId),
    cancel: () => board.cancel(),
  };

  socket.on("error", () => {});
  socket.on("close", () => {
    clearTimeout(late);
    leave?.();
  });
  socket.on("message", (data) => {
    const message = parse(data);
    if (leave) {
      if (Object.hasOwn(actions, message.type)) actions[message.type](message);
      return;
    }
    clearTimeout(late);
    if (!sameKey(message.key, board.key)) return socket.close(4401, "wrong key");
    leave = board.watch(send, Number.isSafeInteger(message.since) ? message.since : 0);
  });
}

function parse(data) {
  try {
    return JSON.parse(data.toString()) ?? {};
  } catch {
    return {};
  }
}
