/** Asks the person at the client for input, with a form or a page to visit. */
import * as v from "valibot";
import {
  defaulted,
  int64,
  items,
  maybe,
  meta,
  object,
  open,
  otherThan,
  plain,
  record,
  tagged,
  uint32,
  uint64,
  variant,
} from "../define/shape.js";
import { ElicitationId, RequestId, SessionId, ToolCallId } from "./id.js";

/** The scope of input for a session, possibly for one of its tool calls. */
export const ElicitationSessionScope = plain(() => ({ sessionId: SessionId, toolCallId: maybe(ToolCallId) }));
export type ElicitationSessionScope = v.InferOutput<typeof ElicitationSessionScope>;

/** The scope of input for a request, before there is a session. */
export const ElicitationRequestScope = plain(() => ({ requestId: RequestId }));
export type ElicitationRequestScope = v.InferOutput<typeof ElicitationRequestScope>;

export const ElicitationSchemaType = v.picklist(["object"]);
export const StringFormat = v.picklist(["email", "uri", "date", "date-time"]);
export type StringFormat = v.InferOutput<typeof StringFormat>;

export const EnumOption = object(() => ({ const: v.string(), title: v.string(), description: maybe(v.string()) }));
export type EnumOption = v.InferOutput<typeof EnumOption>;

const labelled = () => ({ title: maybe(v.string()), description: maybe(v.string()) });

export const StringPropertySchema = object(() => ({
  ...labelled(),
  minLength: v.nullish(uint32()),
  maxLength: v.nullish(uint32()),
  pattern: v.nullish(v.string()),
  format: v.nullish(StringFormat),
  default: maybe(v.string()),
  enum: v.nullish(v.array(v.string())),
  oneOf: v.nullish(v.array(EnumOption)),
}));
export type StringPropertySchema = v.InferOutput<typeof StringPropertySchema>;

export const NumberPropertySchema = object(() => ({
  ...labelled(),
  minimum: v.nullish(v.number()),
  maximum: v.nullish(v.number()),
  default: maybe(v.number()),
}));
export type NumberPropertySchema = v.InferOutput<typeof NumberPropertySchema>;

export const IntegerPropertySchema = object(() => ({
  ...labelled(),
  minimum: v.nullish(int64()),
  maximum: v.nullish(int64()),
  default: maybe(int64()),
}));
export type IntegerPropertySchema = v.InferOutput<typeof IntegerPropertySchema>;

export const BooleanPropertySchema = object(() => ({ ...labelled(), default: maybe(v.boolean()) }));
export type BooleanPropertySchema = v.InferOutput<typeof BooleanPropertySchema>;

export const StringMultiSelectItems = object(() => ({ enum: v.array(v.string()) }));
export type StringMultiSelectItems = v.InferOutput<typeof StringMultiSelectItems>;

export const TitledMultiSelectItems = object(() => ({ anyOf: v.array(EnumOption) }));
export type TitledMultiSelectItems = v.InferOutput<typeof TitledMultiSelectItems>;

export const MultiSelectItems = v.union([
  tagged("type", "string", StringMultiSelectItems),
  open(() => ({ type: otherThan("string") })),
  TitledMultiSelectItems,
]);
export type MultiSelectItems = v.InferOutput<typeof MultiSelectItems>;

export const MultiSelectPropertySchema = object(() => ({
  ...labelled(),
  minItems: v.nullish(uint64()),
  maxItems: v.nullish(uint64()),
  items: MultiSelectItems,
  default: maybe(items(v.string())),
}));
export type MultiSelectPropertySchema = v.InferOutput<typeof MultiSelectPropertySchema>;

export const ElicitationPropertySchema = v.union([
  variant("type", () => ({
    string: StringPropertySchema,
    number: NumberPropertySchema,
    integer: IntegerPropertySchema,
    boolean: BooleanPropertySchema,
    array: MultiSelectPropertySchema,
  })),
  open(() => ({ type: otherThan("string", "number", "integer", "boolean", "array") })),
]);
export type ElicitationPropertySchema = v.InferOutput<typeof ElicitationPropertySchema>;

export const ElicitationSchema = object(() => ({
  type: defaulted(ElicitationSchemaType, () => "object" as const),
  title: maybe(v.string()),
  properties: v.optional(record(ElicitationPropertySchema), () => ({})),
  required: v.nullish(v.array(v.string())),
  description: maybe(v.string()),
}));
export type ElicitationSchema = v.InferOutput<typeof ElicitationSchema>;

const asking = () => ({ message: v.string() });
const form = () => ({ requestedSchema: ElicitationSchema });
const url = () => ({ elicitationId: ElicitationId, url: v.pipe(v.string(), v.url()) });

export const ElicitationFormMode = v.union([
  plain(() => ({ ...form(), ...ElicitationSessionScope.entries })),
  plain(() => ({ ...form(), ...ElicitationRequestScope.entries })),
]);
export type ElicitationFormMode = v.InferOutput<typeof ElicitationFormMode>;

export const ElicitationUrlMode = v.union([
  plain(() => ({ ...url(), ...ElicitationSessionScope.entries })),
  plain(() => ({ ...url(), ...ElicitationRequestScope.entries })),
]);
export type ElicitationUrlMode = v.InferOutput<typeof ElicitationUrlMode>;

export const CreateElicitationRequest = v.union([
  object(() => ({ ...asking(), mode: v.literal("form"), ...form(), ...ElicitationSessionScope.entries })),
  object(() => ({ ...asking(), mode: v.literal("form"), ...form(), ...ElicitationRequestScope.entries })),
  object(() => ({ ...asking(), mode: v.literal("url"), ...url(), ...ElicitationSessionScope.entries })),
  object(() => ({ ...asking(), mode: v.literal("url"), ...url(), ...ElicitationRequestScope.entries })),
  open(() => ({ ...asking(), ...meta(), mode: otherThan("form", "url"), ...ElicitationSessionScope.entries })),
  open(() => ({ ...asking(), ...meta(), mode: otherThan("form", "url"), ...ElicitationRequestScope.entries })),
]);
export type CreateElicitationRequest = v.InferOutput<typeof CreateElicitationRequest>;

export const ElicitationContentValue = v.union([v.string(), v.number(), v.boolean(), v.array(v.string())]);
export type ElicitationContentValue = v.InferOutput<typeof ElicitationContentValue>;

export const ElicitationAcceptAction = plain(() => ({
  content: v.nullish(record(ElicitationContentValue)),
}));
export type ElicitationAcceptAction = v.InferOutput<typeof ElicitationAcceptAction>;

export const CreateElicitationResponse = v.union([
  variant("action", () => ({
    accept: object(() => ElicitationAcceptAction.entries),
    decline: object(() => ({})),
    cancel: object(() => ({})),
  })),
  open(() => ({ ...meta(), action: otherThan("accept", "decline", "cancel") })),
]);
export type CreateElicitationResponse = v.InferOutput<typeof CreateElicitationResponse>;

/** The agent says that the page of a `url` elicitation is finished. */
export const CompleteElicitationNotification = object(() => ({ elicitationId: ElicitationId }));
