import type { Reporter, TestModule } from 'vitest/node';
import type { Finding } from './soak.ts';

/** Prints what the tests of the run have reported, a row each. */
export default class SoakReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const rows = modules.flatMap((module) =>
      [...module.children.allTests()].flatMap((test) => (test.meta().findings ?? []).map(describeFinding)),
    );
    process.stdout.write(['', '| Tried | Lost | Figures |', '|---|---|---|', ...rows, '', ''].join('\n'));
  }
}

function describeFinding({ tried, lost, figures = '' }: Finding): string {
  return `| ${tried} | ${lost} | ${figures} |`;
}
