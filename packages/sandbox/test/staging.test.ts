import { expect, test } from "vitest";
import type { Mount } from "../src/confine/mount-plan.js";
import { stageMounts } from "../src/confine/staging.js";

const directory = (path: string, view: Mount["view"]): Mount => ({ path, view, kind: "directory" });
const file = (path: string, view: Mount["view"]): Mount => ({ path, view, kind: "file" });

/** Source, target and options of the binds, without the devices. */
function binds(mounts: readonly Mount[], volumes: Parameters<typeof stageMounts>[1] = []) {
  const lines = stageMounts(mounts, volumes, false).binds.split("\n");
  const own = lines.findIndex((line) => line.startsWith("/sys/dev /dev "));
  return lines.slice(own + 1).map((line) => line.split(" ").filter((_, index) => index !== 2 && index < 4));
}

test("a workspace is bound to the stage once; its protected places are bound from a read-only name", () => {
  const mounts = [
    directory("/ws", "write"),
    directory("/ws/.codex", "hide"),
    directory("/ws/.git", "write"),
    file("/ws/.git/config", "read"),
  ];
  const staging = stageMounts(mounts, [], false);
  expect(staging.anchors).toEqual([{ path: "/ws", slot: "/sys/write-directory0" }]);
  expect(staging.writable).toEqual(["/sys/write-directory0"]);
  expect(staging.fresh).toContain("/sys/write-directory0 /sys/read-directory0 none rbind,X-mount.mkdir 0 0");
  expect(binds(mounts)).toEqual([
    ["/sys/write-directory0", "/sys/view-directory0", "X-mount.mkdir"],
    ["/sys/empty", "/sys/view-directory0/.codex", "defaults"],
    ["/sys/write-directory0/.git", "/sys/view-directory0/.git", "defaults"],
    ["/sys/read-directory0/.git/config", "/sys/view-directory0/.git/config", "defaults"],
    ["/sys/view-directory0", "/ws", "defaults"],
  ]);
});

test("secrets elsewhere are hidden before any path inside a workspace is resolved", () => {
  const order = binds([directory("/a", "write"), directory("/a/b", "read"), directory("/home/me/.ssh", "hide")]);
  expect(order.map(([, target]) => target)).toEqual([
    "/home/me/.ssh",
    "/sys/view-directory0",
    "/sys/view-directory0/b",
    "/a",
  ]);
});

test("targets in an emptied directory are made first", () => {
  const mounts = [
    directory("/run", "scratch"),
    directory("/tmp", "scratch"),
    directory("/state", "hide"),
    directory("/state/ws", "write"),
    directory("/tmp/ws", "write"),
    file("/run/resolve/resolv.conf", "read"),
  ];
  const { files, fresh, anchors } = stageMounts(mounts, [], true);
  expect(files).toContain("/sys/scratch1/resolve/resolv.conf");
  expect(anchors.map(({ slot }) => slot)).toEqual([
    "/sys/write-directory0",
    "/sys/write-directory1",
    "/sys/read-file2",
  ]);
  expect(fresh).toMatch(/ \/sys\/hollow2 tmpfs nosuid,nodev,mode=0555,/);
  expect(fresh).not.toContain("sysfs");
  expect(binds(mounts)).toContainEqual(["/sys/hollow2", "/state", "defaults"]);
  expect(binds(mounts)).toContainEqual(["/sys/view-directory0", "/state/ws", "X-mount.mkdir"]);
  expect(binds(mounts)).toContainEqual(["/sys/read-file2", "/run/resolve/resolv.conf", "defaults"]);
});

test("a volume in a writable place is writable, and its protected places are bound from it", () => {
  const mounts = [directory("/ws", "write"), directory("/ws/v/.git", "write"), directory("/ws/v/.git/hooks", "read")];
  const staging = stageMounts(mounts, [{ path: "/ws/v", kind: "directory" }], false);
  expect(staging.writable).toEqual(["/sys/write-directory0", "/sys/write-directory1"]);
  expect(staging.anchors[1]).toEqual({ path: "/ws/v", slot: "/sys/write-directory1" });
  expect(staging.binds).toContain(
    "/sys/read-directory1/.git/hooks /sys/view-directory0/v/.git/hooks none defaults 0 0",
  );
});

test("a path cannot end a field or a line, or begin a comment", () => {
  const path = "/a b\tc\nd\\040#'\"\u007f\u00e9";
  expect(binds([directory(path, "write")]).slice(1)).toEqual([
    ["/sys/view-directory0", "/a\\040b\\011c\\012d\\134040\\043\\047\\042\\177\u00e9", "defaults"],
  ]);
  const { writable, anchors } = stageMounts([directory(path, "write")], [], false);
  expect(anchors).toEqual([{ path, slot: writable[0] }]);
});
