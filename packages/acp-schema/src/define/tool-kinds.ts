/** The kinds of tools that ACP knows. Records use the same words, so that every transport shows the same. */
export const toolKinds = [
  "read",
  "edit",
  "delete",
  "move",
  "search",
  "execute",
  "think",
  "fetch",
  "switch_mode",
  "other",
] as const;
