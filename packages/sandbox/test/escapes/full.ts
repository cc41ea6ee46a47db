import { ATTEMPTS } from "./attempts.js";
import { ACTORS, escapeSuite } from "./suite.js";

for (const actor of ACTORS) escapeSuite(actor, ATTEMPTS);
