import type { Reporter, TestModule } from 'vitest/node';
import type { Finding } from './soak.ts';

/** Prints a table of what the tests of the run have reported. */
export default class SoakReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => (test.meta().findings ?? []).map(describeFinding)),
    );
    process.stdout.write(['', '| Tried | Lost | Measured |', '|---|---|---|', ...rows, '', ''].join('\n'));
  }
}

function describeFinding({ tried, lost = '', figures = '' }: Finding): string {
  return `| ${tried} | ${lost} | ${figures} |`;
}
