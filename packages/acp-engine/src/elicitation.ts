/** Turns a form of the engine into questions of our session, one for each field, and the answers into the form's values. */
import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  ElicitationContentValue,
  ElicitationPropertySchema,
} from "@chimera/acp-schema";
import type { AgentContext, Question } from "@chimera/acp-schema/agent";

/** The most fields of a form, and how often a person may correct the answer for one field. */
const MOST_FIELDS = 8;
const MOST_TRIES = 3;

export async function settleElicitation(
  asked: CreateElicitationRequest,
  callId: string,
  put: NonNullable<AgentContext["question"]>,
): Promise<CreateElicitationResponse> {
  // The engine was offered only forms.
  const fields = asked.mode === "form" ? fieldsOf(asked as FormRequest) : [];
  if (fields.length === 0 || fields.length > MOST_FIELDS) return DECLINED;
  const content = new Map<string, ElicitationContentValue>();
  for (const { name, question, options, isRequired, read } of fields) {
    let why = "";
    for (let tries = 0; !content.has(name); tries++) {
      const { answer, by } = await put({ call_id: callId, question: why + question, options });
      if (by === "cancel" || by === "eviction") return { action: "cancel" };
      if (answer === null && !isRequired) break;
      if (answer === null || tries === MOST_TRIES) return DECLINED;
      const value = read(answer);
      if (value !== undefined) content.set(name, value);
      why = `${JSON.stringify(answer)} does not fit. `;
    }
  }
  return { action: "accept", content: Object.fromEntries(content) };
}

export const DECLINED: CreateElicitationResponse = { action: "decline" };

// --- internal ---

type FormRequest = Extract<CreateElicitationRequest, { requestedSchema: unknown }>;

interface Field extends Pick<Question, "question" | "options"> {
  readonly name: string;
  readonly isRequired: boolean;
  /** The value that an answer means, or undefined if the answer does not fit. */
  read(answer: string): ElicitationContentValue | undefined;
}

function fieldsOf({ message, requestedSchema }: FormRequest): Field[] {
  const { properties, required } = requestedSchema;
  return Object.entries(properties).map(([name, property], at) => {
    const { title, description } = property as { readonly title?: unknown; readonly description?: unknown };
    const about = [title ?? name, description].filter((text) => typeof text === "string").join(": ");
    const choices = choicesOf(property);
    return {
      name,
      isRequired: required?.includes(name) ?? false,
      question: [at === 0 ? message : "", about].filter(Boolean).join("\n"),
      options: choices.map((choice) => ({ name: choice.name })),
      read: (answer) => fitting(property, choices, answer.trim()),
    };
  });
}

interface Choice {
  readonly name: string;
  readonly value: string;
}

/** The values of a field with the names that people see. */
function choicesOf(property: ElicitationPropertySchema): Choice[] {
  if (property.type === "boolean") return ["yes", "no"].map((name) => ({ name, value: name }));
  const { items, ...own } = property as { readonly items?: object } & Listed;
  const { oneOf, anyOf, enum: values } = { ...own, ...items } as Listed;
  const titled = (oneOf ?? anyOf)?.map((one) => ({ name: one.title, value: one.const }));
  return titled ?? values?.map((value) => ({ name: value, value })) ?? [];
}

interface Listed {
  readonly enum?: readonly string[] | null;
  readonly oneOf?: readonly { readonly const: string; readonly title: string }[] | null;
  readonly anyOf?: Listed["oneOf"];
}

function fitting(
  { type }: ElicitationPropertySchema,
  choices: readonly Choice[],
  answer: string,
): ElicitationContentValue | undefined {
  const chosen = (text: string) =>
    choices.find(({ name, value }) => [name, value].some((one) => one.toLowerCase() === text.toLowerCase()))?.value;
  if (type === "number" || type === "integer") {
    const number = answer === "" ? Number.NaN : Number(answer);
    return Number.isFinite(number) && (type === "number" || Number.isInteger(number)) ? number : undefined;
  }
  if (type === "boolean") return chosen(answer) === undefined ? undefined : chosen(answer) === "yes";
  if (type === "array") {
    const all = answer.split(",").map((one) => chosen(one.trim()));
    return all.every((one) => one !== undefined) ? all : undefined;
  }
  return choices.length === 0 ? answer : chosen(answer);
}
