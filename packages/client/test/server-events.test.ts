import { expect, test } from "vitest";
import { serverEvents } from "../src/server-events.js";

/** A body that gives these texts and then neither ends nor says that it was aborted. */
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

test("events come together that arrive together, whole, and without remarks", async () => {
  const { response } = answer(': ping\n\nid: 1\nevent: row\ndata: {"a":1}\n\ndata: b\n', "\nid: 3\nda", "ta: c\n\n");
  const events = serverEvents(response, new AbortController().signal);
  expect((await events.next()).value).toEqual([{ id: "1", event: "row", data: '{"a":1}' }]);
  expect((await events.next()).value).toEqual([{ id: undefined, event: "", data: "b" }]);
  expect((await events.next()).value).toEqual([{ id: "3", event: "", data: "c" }]);
  await events.return(undefined);
});

test.each(["before", "while"])("a reader that leaves %s it waits is let go, and the body with it", async (when) => {
  const { response, isCancelled } = answer();
  const control = new AbortController();
  if (when === "before") control.abort(new Error("left"));
  const next = serverEvents(response, control.signal).next();
  if (when === "while") control.abort(new Error("left"));
  await expect(next).rejects.toThrow("left");
  expect(isCancelled()).toBe(true);
});
