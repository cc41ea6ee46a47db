/** The OpenAPI document, made with the schemas that validate requests, and loaded when somebody asks for it. */

export async function describeApi(program: { readonly title: string; readonly version: string }) {
  const { default: api } = await import("@chimera/acp-schema/openapi.json", { with: { type: "json" } });
  return { ...api, info: { ...api.info, ...program } };
}
