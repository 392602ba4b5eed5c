import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestSpecification } from 'vitest/node';
import { describeSkips } from './tools.ts';

/** Prints at the start which files skip tests, and what they lack. */
export default class SkipReporter implements Reporter {
  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const files = specifications.map(
      ({ moduleId }) => [relative(process.cwd(), moduleId), readFileSync(moduleId, 'utf8')] as const,
    );
    process.stdout.write(
      describeSkips(new Map(files))
        .map((line) => `${line}\n`)
        .join(''),
    );
  }
}
