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
  return brokenBy(promisesOf(document()), promisesOf(changed), changed);
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

test("what was written out in place may get a name, and an object of an answer a shape, but neither loses a field", () => {
  const inPlace = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
  const before = document();
  before.components.schemas.Thing.properties.file = inPlace;
  before.components.schemas.Thing.properties.events = { type: "array", items: { type: "object" } };
  before.components.schemas.ThingBody.properties.file = inPlace;
  const named = (file) => {
    const now = structuredClone(before);
    const { Thing, ThingBody } = now.components.schemas;
    Thing.properties.file = ThingBody.properties.file = { $ref: "#/components/schemas/File" };
    Thing.properties.events.items = { anyOf: [{ $ref: "#/components/schemas/File" }, { type: "object" }] };
    now.components.schemas.File = file;
    return brokenBy(promisesOf(before), promisesOf(now), now);
  };
  expect(named(inPlace)).toEqual([]);
  expect(named({ ...inPlace, properties: {}, required: [] })).toEqual([
    "Thing has lost or changed .file.path: string",
    "Thing may now lack .file.path",
    "ThingBody has lost or changed .file.path: string",
  ]);
  const larger = { ...inPlace, properties: { ...inPlace.properties, size: { type: "number" } } };
  expect(named(larger)).toEqual([]);
  expect(named({ ...larger, required: ["path", "size"] })).toEqual(["ThingBody now needs .file.size"]);
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
