/** Content blocks, the parts of prompts, messages and tool output. */
import * as v from "valibot";
import { int64, items, maybe, object, variant } from "../define/shape.js";

export const Role = v.picklist(["assistant", "user"]);
export type Role = v.InferOutput<typeof Role>;

/** Hints about content: its audience, importance and age. */
export const Annotations = object(() => ({
  audience: maybe(items(Role)),
  lastModified: maybe(v.string()),
  priority: maybe(v.number()),
}));
export type Annotations = v.InferOutput<typeof Annotations>;

export const TextContent = object(() => ({
  annotations: maybe(Annotations),
  text: v.string(),
}));
export type TextContent = v.InferOutput<typeof TextContent>;

export const ImageContent = object(() => ({
  annotations: maybe(Annotations),
  /** Base64. */
  data: v.string(),
  mimeType: v.string(),
  uri: maybe(v.string()),
}));
export type ImageContent = v.InferOutput<typeof ImageContent>;

export const AudioContent = object(() => ({
  annotations: maybe(Annotations),
  /** Base64. */
  data: v.string(),
  mimeType: v.string(),
}));
export type AudioContent = v.InferOutput<typeof AudioContent>;

/** A resource that the agent may fetch by itself. */
export const ResourceLink = object(() => ({
  annotations: maybe(Annotations),
  description: maybe(v.string()),
  mimeType: maybe(v.string()),
  name: v.string(),
  size: maybe(int64()),
  title: maybe(v.string()),
  uri: v.string(),
}));
export type ResourceLink = v.InferOutput<typeof ResourceLink>;

export const TextResourceContents = object(() => ({
  mimeType: maybe(v.string()),
  text: v.string(),
  uri: v.string(),
}));
export type TextResourceContents = v.InferOutput<typeof TextResourceContents>;

export const BlobResourceContents = object(() => ({
  /** Base64. */
  blob: v.string(),
  mimeType: maybe(v.string()),
  uri: v.string(),
}));
export type BlobResourceContents = v.InferOutput<typeof BlobResourceContents>;

export const EmbeddedResourceResource = v.union([TextResourceContents, BlobResourceContents]);
export type EmbeddedResourceResource = v.InferOutput<typeof EmbeddedResourceResource>;

/** A resource with its contents. */
export const EmbeddedResource = object(() => ({
  annotations: maybe(Annotations),
  resource: EmbeddedResourceResource,
}));
export type EmbeddedResource = v.InferOutput<typeof EmbeddedResource>;

/** Every agent accepts `text` and `resource_link`. The other types need a prompt capability. */
export const ContentBlock = variant("type", () => ({
  text: TextContent,
  image: ImageContent,
  audio: AudioContent,
  resource_link: ResourceLink,
  resource: EmbeddedResource,
}));
export type ContentBlock = v.InferOutput<typeof ContentBlock>;
