/** A module of our own around the parser, which is CommonJS: loaded on demand out of a bundle, that has no named exports. */
export { parse } from "yaml";
