/** Where the page begins. */
import { render } from "preact";
import { signIn } from "./server/client.js";
import { takeCode } from "./server/sign-in.js";
import { keepConnected } from "./server/stream.js";
import { App } from "./views/app.js";

const code = takeCode();
if (code !== null) await signIn(code);
keepConnected();
render(<App />, document.getElementById("page")!);
