export { bundleApp as default } from "../../scripts/bundle-app.js";
