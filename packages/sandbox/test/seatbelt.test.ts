import { expect, test } from "vitest";
import { seatbeltProfile } from "../src/confine/seatbelt.js";

const plan = {
  mounts: [
    { path: "/Users/me/project", view: "write", kind: "directory" },
    { path: '/Users/me/pro"ject\\x', view: "write", kind: "directory" },
    { path: "/Users/me/project/.git/hooks", view: "read", kind: "directory" },
    { path: "/Users/me/.ssh", view: "hide", kind: "directory" },
  ],
  placeholders: [],
} as const;

/** In Seatbelt the last matching rule wins. */
const order = (profile: string, ...parts: string[]): number[] => parts.map((part) => profile.indexOf(part));

test("everything is denied first; protection and secrets come after writable paths", () => {
  const profile = seatbeltProfile(plan, { writes: true, network: false });
  const places = order(
    profile,
    "(deny default)",
    '(subpath "/Users/me/project")',
    '(subpath "/Users/me/project/.git/hooks")',
    '(deny file-read* (subpath "/Users/me/.ssh"))',
  );
  expect(places).not.toContain(-1);
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(profile).not.toContain("network");
});

test("read-only writes scratch files only; the network mode opens internet sockets", () => {
  const reading = seatbeltProfile(plan, { writes: false, network: false });
  expect(reading).not.toContain('(subpath "/Users/me/project")');
  expect(reading).toContain('(subpath "/private/tmp")');
  expect(seatbeltProfile(plan, { writes: true, network: true })).toContain("(allow network-outbound");
});

test("names cannot break out of their quotes", () => {
  const profile = seatbeltProfile(plan, { writes: true, network: false });
  expect(profile).toContain(String.raw`(subpath "/Users/me/pro\"ject\\x")`);
});
