import { expect, test } from "vitest";
import { brokenBy, promisesOf } from "../scripts/api-promise.mjs";

const document = () => ({
  info: { version: "1.0.0" },
  paths: {
    "/things": {
      get: {
        operationId: "thingsList",
        parameters: [{ in: "query", name: "limit", required: false }],
        responses: { 200: { content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } } } },
      },
      post: {
        operationId: "thingsMake",
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/ThingBody" } } } },
        responses: { 201: {} },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: "object",
        properties: { id: { type: "string" }, state: { type: "string", enum: ["idle", "running"] } },
        required: ["id"],
      },
      ThingBody: {
        type: "object",
        properties: { name: { type: "string" }, size: { type: "number" } },
        required: ["name"],
      },
    },
  },
});

const after = (change) => {
  const changed = document();
  change(changed);
  return brokenBy(promisesOf(document()), promisesOf(changed));
};

test("what a program relies on may not go, and nothing new may be asked of it", () => {
  expect(after(() => {})).toEqual([]);
  expect(after(({ paths }) => delete paths["/things"].post)).toEqual(["POST /things is gone"]);
  expect(after(({ paths }) => paths["/things"].get.parameters.pop())).toEqual([
    "GET /things no longer takes query limit",
  ]);
  expect(after(({ components }) => delete components.schemas.Thing.properties.id)).toContain(
    "Thing has lost or changed .id: string",
  );
  expect(after(({ components }) => components.schemas.Thing.properties.state.enum.pop())).toEqual([
    'Thing has lost or changed .state = "running"',
  ]);
  expect(after(({ components }) => components.schemas.Thing.required.pop())).toEqual(["Thing may now lack .id"]);
  expect(after(({ components }) => components.schemas.ThingBody.required.push("size"))).toEqual([
    "ThingBody now needs .size",
  ]);
});

test("an API may grow, and may change with its version", () => {
  const grown = after(({ paths, components }) => {
    paths["/more"] = paths["/things"];
    components.schemas.Thing.properties.title = { type: "string" };
    components.schemas.Thing.properties.state.enum.push("waiting");
    components.schemas.ThingBody.properties.note = { type: "string" };
  });
  expect(grown).toEqual([]);
  expect(
    after((changed) => {
      changed.info.version = "2.0.0";
      delete changed.paths["/things"];
    }),
  ).toEqual([]);
});
