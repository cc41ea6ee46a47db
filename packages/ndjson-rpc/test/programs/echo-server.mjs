// A server on real stdio for the tests: every handler a client could provoke into misbehaving.
import { createConnection, defineMethods, request } from "../../dist/index.js";
import { takeOverStdio } from "../../dist/stdio.js";

const connection = createConnection({
  ...takeOverStdio(),
  methods: defineMethods({
    echo: request({ handle: (params) => params }),
    late: request({ handle: (params) => new Promise((resolve) => setTimeout(resolve, 5, params)) }),
    boom: request({
      handle: () => {
        throw new Error("handler failed");
      },
    }),
    noise: request({
      handle: () => {
        console.log("noise from console.log");
        console.error("noise from console.error");
        process.stdout.write("noise from process.stdout\n");
        return "quiet";
      },
    }),
    flood: request({
      handle: ({ count }) => {
        for (let i = 0; i < count; i++) connection.notify("tick", { i });
        return count;
      },
    }),
  }),
});

process.stderr.write(`closed: ${await connection.closed}\n`, () => process.exit(0));
