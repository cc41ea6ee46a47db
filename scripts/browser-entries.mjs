// The entries that promise to run in a browser, each with its budget: KiB, minified and compressed.

/** @type {Record<string, number>} */
export const browserEntries = {
  "@chimera/acp-schema": 24,
  "@chimera/acp-schema/unstable": 24,
  "@chimera/acp-schema/otter": 24,
  "@chimera/acp-schema/ferret": 24,
  "@chimera/acp-schema/events": 12,
  "@chimera/acp-schema/http": 24,
};
