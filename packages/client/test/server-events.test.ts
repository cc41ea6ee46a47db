import { expect, test } from "vitest";
import { serverEvents } from "../src/server-events.js";

/** A body that yields these texts and then neither ends nor reports that it was aborted. */
function answer(...texts: string[]) {
  let isCancelled = false;
  const body = new ReadableStream({
    start(controller) {
      for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
    },
    cancel() {
      isCancelled = true;
    },
  });
  return { response: new Response(body), isCancelled: () => isCancelled };
}

test("events that arrive together are yielded together, complete and without comments", async () => {
  const { response } = answer(': ping\n\nid: 1\nevent: row\ndata: {"a":1}\n\ndata: b\n', "\nid: 3\nda", "ta: c\n\n");
  const events = serverEvents(response, new AbortController().signal);
  expect((await events.next()).value).toEqual([{ id: "1", event: "row", data: '{"a":1}' }]);
  expect((await events.next()).value).toEqual([{ id: undefined, event: "", data: "b" }]);
  expect((await events.next()).value).toEqual([{ id: "3", event: "", data: "c" }]);
  await events.return(undefined);
});

test.each(["before", "while"])(
  "a reader that aborts %s it waits is released, and the body is cancelled",
  async (when) => {
    const { response, isCancelled } = answer();
    const control = new AbortController();
    if (when === "before") control.abort(new Error("left"));
    const next = serverEvents(response, control.signal).next();
    if (when === "while") control.abort(new Error("left"));
    await expect(next).rejects.toThrow("left");
    expect(isCancelled()).toBe(true);
  },
);
