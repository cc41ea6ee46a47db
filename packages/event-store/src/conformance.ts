/** `@chimera/event-store/conformance`: the store contract as test cases, for any backend and any test runner. */
import { appendCases } from "./conformance/append.js";
import type { ConformanceCase, ConformanceSubject } from "./conformance/bench.js";
import { lifeCycleCases } from "./conformance/life-cycle.js";
import { replayCases } from "./conformance/replay.js";

export type {
  ConformanceCase,
  ConformanceSubject,
  SuiteEvent,
  SuiteStore,
  SuiteSummary,
} from "./conformance/bench.js";
export { createExampleBackend, createExampleTable, type ExampleTable } from "./conformance/example-store.js";

/** Every case, for a runner that lists them itself. */
export const conformanceCases: readonly ConformanceCase[] = Object.entries({
  ...appendCases,
  ...replayCases,
  ...lifeCycleCases,
}).map(([name, run]) => ({ name, run }));

/** The two functions every test runner has. */
export interface TestRunner {
  describe(name: string, body: () => void): void;
  it(name: string, body: () => Promise<void>): void;
}

/**
 * Registers the suite. `open` makes an empty store for each case. With a second handle, the cases about several processes run too.
 *
 * @example
 * describeEventStore({ describe, it }, { name: "mine", open: () => createMyStore() });
 */
export function describeEventStore(
  runner: TestRunner,
  backend: {
    readonly name: string;
    open(): Promise<ConformanceSubject & { close(): Promise<void> }>;
  },
): void {
  runner.describe(`the event store contract: ${backend.name}`, () => {
    for (const { name, run } of conformanceCases) {
      runner.it(name, async () => {
        const subject = await backend.open();
        try {
          await run(subject);
        } finally {
          await subject.close();
        }
      });
    }
  });
}
