import type { Reporter, TestModule } from 'vitest/node';
import type { Finding } from './soak.ts';

/** Prints a table of what the tests of the run have reported, and which were skipped. */
export default class SoakReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const rows = tests.flatMap((test) => (test.meta().findings ?? []).map(describeFinding));
    const skipped = tests
      .filter((test) => test.result().state === 'skipped')
      .map(({ fullName }) => `skipped: ${fullName}`);
    const table = ['| Tried | Lost | Measured |', '|---|---|---|', ...rows];
    process.stdout.write(['', ...table, ...skipped, '', ''].join('\n'));
  }
}

function describeFinding({ tried, lost = '', figures = '' }: Finding): string {
  return `| ${tried} | ${lost} | ${figures} |`;
}
