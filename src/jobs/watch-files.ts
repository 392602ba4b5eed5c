import { readFile } from 'node:fs/promises';
import { pause } from '../pause.ts';

/**
 * How often the files are read: Kubernetes renews a mounted secret by a symbolic link, which no file watcher reports.
 */
const INTERVAL_MS = 2_000;

export interface FileWatch {
  readonly signal: AbortSignal;
  /** The texts in use at the start. If undefined, the first texts are used without a call of `onUsed`. */
  readonly seen?: readonly string[];
  /** Gets the texts in the order of the paths. Throws if they cannot be used. */
  readonly use: (...texts: string[]) => void;
  readonly onUsed?: () => void;
  /** Called if files cannot be read or used. The previous texts stay in use. */
  readonly onError: (error: unknown) => void;
}

/** Calls `use` with the texts of the files whenever one changes, until the signal is aborted. */
export async function watchFiles(
  paths: readonly string[],
  { signal, seen, use, onUsed, onError }: FileWatch,
): Promise<void> {
  let state = seen?.join('');
  while (!signal.aborted) {
    const found = await Promise.all(paths.map((path) => readFile(path, 'utf8'))).catch((error: Error) => error);
    const before = state;
    state = found instanceof Error ? found.message : found.join('');
    if (state !== before) {
      try {
        if (found instanceof Error) throw found;
        use(...found);
        if (before !== undefined) onUsed?.();
      } catch (error) {
        onError(error);
      }
    }
    await pause(INTERVAL_MS, signal);
  }
}
