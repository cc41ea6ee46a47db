/** Hints on how content is meant: for whom, how important, how old. */
import * as v from "valibot";
import { items, maybe, object } from "../define/shape.js";

export const Role = v.picklist(["assistant", "user"]);
export type Role = v.InferOutput<typeof Role>;

export const Annotations = object(() => ({
  audience: maybe(items(Role)),
  lastModified: maybe(v.string()),
  priority: maybe(v.number()),
}));
export type Annotations = v.InferOutput<typeof Annotations>;
