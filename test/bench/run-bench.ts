/** What every bench does: say how far it is, and end whatever it has started, however it ends. */

export type Progress = (line: string) => void;

/** Runs the bench, which resolves to whether all is well, and exits. What it starts goes onto its stack. */
export async function runBench(bench: (stack: AsyncDisposableStack, progress: Progress) => Promise<boolean>) {
  const stack = new AsyncDisposableStack();
  const progress: Progress = (line) => void process.stderr.write(`${line}\n`);
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
    progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
    await end(1);
  }
}
