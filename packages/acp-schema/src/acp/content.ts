/** Content blocks, the parts of prompts, messages and tool output. */
import * as v from "valibot";
import { int64, items, maybe, object, variant } from "../define/shape.js";

export const Role = v.picklist(["assistant", "user"]);
export type Role = v.InferOutput<typeof Role>;

/** Hints about content: its audience, importance and age. */
export const Annotations = object(() => ({
  /** Whom the content is for; absent if it is for everybody. */
  audience: maybe(items(Role)),
  /** The time of its last change, in ISO 8601. */
  lastModified: maybe(v.string()),
  /** How important it is: 1 is needed, 0 is optional. */
  priority: maybe(v.number()),
}));
export type Annotations = v.InferOutput<typeof Annotations>;

export const TextContent = object(() => ({
  /** Hints about the content. */
  annotations: maybe(Annotations),
  /** The text. */
  text: v.string(),
}));
export type TextContent = v.InferOutput<typeof TextContent>;

export const ImageContent = object(() => ({
  /** Hints about the content. */
  annotations: maybe(Annotations),
  /** The image, in base64. */
  data: v.string(),
  /** The media type of the image, such as `image/png`. */
  mimeType: v.string(),
  /** Where the image comes from. */
  uri: maybe(v.string()),
}));
export type ImageContent = v.InferOutput<typeof ImageContent>;

export const AudioContent = object(() => ({
  /** Hints about the content. */
  annotations: maybe(Annotations),
  /** The sound, in base64. */
  data: v.string(),
  /** The media type of the sound, such as `audio/wav`. */
  mimeType: v.string(),
}));
export type AudioContent = v.InferOutput<typeof AudioContent>;

/** A resource that the agent may fetch by itself. */
export const ResourceLink = object(() => ({
  /** Hints about the content. */
  annotations: maybe(Annotations),
  /** What the resource is. */
  description: maybe(v.string()),
  /** The media type of the resource. */
  mimeType: maybe(v.string()),
  /** The name of the resource. */
  name: v.string(),
  /** Bytes of the resource. */
  size: maybe(int64()),
  /** The name for people. */
  title: maybe(v.string()),
  /** The address of the resource. */
  uri: v.string(),
}));
export type ResourceLink = v.InferOutput<typeof ResourceLink>;

export const TextResourceContents = object(() => ({
  /** The media type of the resource. */
  mimeType: maybe(v.string()),
  /** The text of the resource. */
  text: v.string(),
  /** The address of the resource. */
  uri: v.string(),
}));
export type TextResourceContents = v.InferOutput<typeof TextResourceContents>;

export const BlobResourceContents = object(() => ({
  /** The bytes of the resource, in base64. */
  blob: v.string(),
  /** The media type of the resource. */
  mimeType: maybe(v.string()),
  /** The address of the resource. */
  uri: v.string(),
}));
export type BlobResourceContents = v.InferOutput<typeof BlobResourceContents>;

/** The contents of a resource, as text or as bytes. */
export const EmbeddedResourceResource = v.union([TextResourceContents, BlobResourceContents]);
export type EmbeddedResourceResource = v.InferOutput<typeof EmbeddedResourceResource>;

/** A resource with its contents. */
export const EmbeddedResource = object(() => ({
  /** Hints about the content. */
  annotations: maybe(Annotations),
  /** The contents, as text or as bytes. */
  resource: EmbeddedResourceResource,
}));
export type EmbeddedResource = v.InferOutput<typeof EmbeddedResource>;

/** Every agent accepts `text` and `resource_link`. The other types need a prompt capability. */
export const ContentBlock = variant("type", () => ({
  /** A text. */
  text: TextContent,
  /** An image. */
  image: ImageContent,
  /** A sound. */
  audio: AudioContent,
  /** A resource that the agent may fetch by itself. */
  resource_link: ResourceLink,
  /** A resource with its contents. */
  resource: EmbeddedResource,
}));
export type ContentBlock = v.InferOutput<typeof ContentBlock>;
