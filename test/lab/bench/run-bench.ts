import { UsageError } from './command-line.ts';

/** Prints a line, with the seconds since the start. */
export type Progress = (line: string) => void;

/** Runs a benchmark and exits with 0 if it resolves to true. Disposes of its stack however it ends. */
export async function runBench(bench: (stack: AsyncDisposableStack, progress: Progress) => Promise<boolean>) {
  const stack = new AsyncDisposableStack();
  const progress: Progress = (line) =>
    void process.stderr.write(`${line} (${Math.round(performance.now() / 1_000)} s)\n`);
  let isEnding = false;
  const end = async (code: number) => {
    if (isEnding) return;
    isEnding = true;
    await stack.disposeAsync();
    process.exit(code);
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => end(130));
  try {
    await end((await bench(stack, progress)) ? 0 : 1);
  } catch (error) {
    console.error(isOfUsage(error) ? error.message : error);
    await end(1);
  }
}

/** An option that does not exist is an error of Node. */
function isOfUsage(error: unknown): error is Error {
  return error instanceof UsageError || (error instanceof TypeError && /^ERR_PARSE_ARGS/.test(codeOf(error)));
}

function codeOf(error: object): string {
  return 'code' in error ? String(error.code) : '';
}
