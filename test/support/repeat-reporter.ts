import type { Reporter, TestModule, Vitest } from 'vitest/node';

/** Prints at the end the commands that repeat what has failed, one test each. */
export default class RepeatReporter implements Reporter {
  #command = '';

  onInit({ config }: Vitest): void {
    // A file that is named runs whatever its tier. Its long form needs the mode.
    this.#command = config.mode === 'lab' ? 'npm test -- --mode lab' : 'npm test --';
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const failed = modules.filter((module) => module.state() === 'failed');
    const commands = failed.flatMap((module) => {
      const ofFile = `${this.#command} ${module.relativeModuleId}`;
      const tests = [...module.children.allTests('failed')];
      // A file without a failed test could not be loaded, or one of its hooks has failed.
      return tests.length === 0 ? ofFile : tests.map(({ fullName }) => `${ofFile} -t '${toPattern(fullName)}'`);
    });
    if (commands.length > 0)
      process.stdout.write(`Repeat a failure:\n${commands.map((line) => `  ${line}\n`).join('')}\n`);
  }
}

/** Returns a regular expression that a shell takes as it is, and that fits the title however its parts are joined. */
function toPattern(title: string): string {
  return title.replaceAll(/[^\w ,:-]/g, '.').replaceAll(' . ', '.*');
}
