/** `@chimera/acp-schema/unstable`: Agent Client Protocol v1 with its unstable parts. */
export {};
