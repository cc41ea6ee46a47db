import manifest from "../package.json" with { type: "json" };

export const about = { name: "otter", version: manifest.version } as const;
