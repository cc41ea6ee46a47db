import * as v from "valibot";
import { describe, expect, test } from "vitest";
import * as stable from "../src/index.js";
import * as unstable from "../src/unstable/index.js";
import { findDrift, type Ours, schemasOf } from "./drift.js";
import { type Official, readOfficial } from "./model/official.js";

const ourStable: Ours = {
  schemas: schemasOf(stable),
  methods: [stable.agentMethods, stable.clientMethods, stable.protocolMethods],
};
const ourUnstable: Ours = {
  schemas: schemasOf({ ...stable, ...unstable }),
  methods: [unstable.agentMethods, unstable.clientMethods, stable.protocolMethods, unstable.proxyMethods],
};

describe("no drift from the official schema", () => {
  test("stable", () => {
    expect(findDrift(readOfficial("schema.json"), ourStable)).toEqual([]);
  });

  test("unstable", () => {
    expect(findDrift(readOfficial("schema.unstable.json"), ourUnstable)).toEqual([]);
  });

  test("error codes", () => {
    const codes = readOfficial("schema.json").$defs["ErrorCode"]?.anyOf?.flatMap((code) => code.const ?? []);
    expect(Object.values(stable.errorCodes).sort()).toEqual(codes?.sort());
  });
});

describe("drift is found", () => {
  const without = (change: (official: Official) => void) => {
    const official = readOfficial("schema.json");
    change(official);
    return findDrift(official, ourStable);
  };

  test("an enum member the specification no longer has", () => {
    const drift = without(({ $defs }) => $defs["StopReason"]?.oneOf?.splice(2, 1));
    expect(drift).toContainEqual(expect.stringMatching(/^StopReason: has besides .*max_turn_requests/));
    expect(drift).toContainEqual(expect.stringMatching(/^PromptResponse\.stopReason: has besides/));
  });

  test("a key the specification no longer requires", () => {
    const drift = without(({ $defs }) => {
      const definition = $defs["NewSessionRequest"];
      if (definition) definition.required = ["cwd"];
    });
    expect(drift).toEqual(["NewSessionRequest.mcpServers: required is true"]);
  });

  test("a method the specification no longer has", () => {
    const drift = without(({ $defs }) => {
      for (const name of ["SetSessionModeRequest", "SetSessionModeResponse"]) {
        const definition = $defs[name];
        if (definition) definition["x-method"] = "";
      }
    });
    expect(drift).toContain("method agent session/set_mode request: not official");
  });

  test("a new property, and a new option of a union", () => {
    const drift = without(({ $defs }) => {
      const properties = $defs["PromptResponse"]?.properties;
      if (properties) properties["usage"] = { type: "object" };
      $defs["ContentBlock"]?.oneOf?.push({ type: "object", properties: { type: { type: "string", const: "video" } } });
    });
    expect(drift).toContain("PromptResponse.usage: missing");
    expect(drift).toContainEqual(expect.stringMatching(/^ContentBlock: lacks .*video/));
  });

  test("an enum member, a required key and a method deleted on our side", () => {
    const { "session/cancel": _, ...agentMethods } = stable.agentMethods;
    const drift = findDrift(readOfficial("schema.json"), {
      schemas: {
        ...ourStable.schemas,
        ToolKind: v.picklist(stable.ToolKind.options.filter((kind) => kind !== "fetch")),
        PlanEntry: v.object({ ...stable.PlanEntry.entries, status: v.optional(stable.PlanEntryStatus) }),
      },
      methods: [agentMethods, stable.clientMethods, stable.protocolMethods],
    });
    expect(drift).toContainEqual(expect.stringMatching(/^ToolKind: lacks .*fetch/));
    expect(drift).toContain("PlanEntry.status: required is false");
    expect(drift).toContain("method agent session/cancel notification: missing");
  });
});
