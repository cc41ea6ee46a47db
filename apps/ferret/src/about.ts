import manifest from "../package.json" with { type: "json" };

export const about = { name: "ferret", version: manifest.version } as const;
