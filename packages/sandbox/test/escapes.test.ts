import { ATTEMPTS } from "./escapes/attempts.js";
import { escapeSuite } from "./escapes/suite.js";

// The whole corpus is `pnpm run test:escapes`.
escapeSuite(ATTEMPTS.filter((attempt) => attempt.core));
