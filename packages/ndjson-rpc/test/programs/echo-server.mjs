// A server on real stdio for the tests: every handler a client could provoke into misbehaving.
import { createConnection, defineMethods, row } from "../../dist/index.js";
import { takeOverStdio } from "../../dist/stdio.js";

const connection = createConnection({
  ...takeOverStdio(),
  methods: defineMethods({
    echo: row({ handle: (params) => params }),
    late: row({ handle: (params) => new Promise((resolve) => setTimeout(resolve, 5, params)) }),
    boom: row({
      handle: () => {
        throw new Error("handler failed");
      },
    }),
    noise: row({
      handle: () => {
        console.log("noise from console.log");
        console.error("noise from console.error");
        process.stdout.write("noise from process.stdout\n");
        return "quiet";
      },
    }),
    flood: row({
      handle: ({ count }) => {
        for (let i = 0; i < count; i++) connection.notify("tick", { i });
        return count;
      },
    }),
  }),
});

process.stderr.write(`closed: ${await connection.closed}\n`, () => process.exit(0));
