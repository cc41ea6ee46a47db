import { ATTEMPTS } from "./attempts.js";
import { escapeSuite } from "./suite.js";

escapeSuite(ATTEMPTS);
