import { ATTEMPTS } from "./escapes/attempts.js";
import { ACTORS, escapeSuite } from "./escapes/suite.js";

// The whole corpus is `pnpm run test:escapes`.
for (const actor of ACTORS)
  escapeSuite(
    actor,
    ATTEMPTS.filter((attempt) => attempt.core),
  );
