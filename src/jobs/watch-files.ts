import { readFile } from 'node:fs/promises';
import { pause } from '../pause.ts';

/**
 * How often the files are read: Kubernetes renews a mounted secret by a symbolic link, which no file watcher reports.
 */
const INTERVAL_MS = 2_000;
/** Somebody may be writing a file that has changed, so it is read again before it is used. */
const SETTLE_MS = 1_000;

export interface FileWatch {
  readonly signal: AbortSignal;
  /** The texts in use at the start. If undefined, the first texts are used without a call of `onUsed`. */
  readonly seen?: readonly string[];
  /** Gets the texts in the order of the paths. Throws, or rejects, if they cannot be used. */
  readonly use: (...texts: string[]) => unknown;
  readonly onUsed?: () => void;
  /** Called if files cannot be read or used. The previous texts stay in use. */
  readonly onError: (error: unknown) => void;
}

/**
 * Calls `use` with the texts of the files whenever one changes, until the signal is aborted. Texts are used once two
 * reads in a row agree: a file that somebody is writing, or a certificate without its key, is not.
 */
export async function watchFiles(
  paths: readonly string[],
  { signal, seen, use, onUsed, onError }: FileWatch,
): Promise<void> {
  let state = seen?.join('\0');
  let firstRead: string | undefined;
  let lastRead: string | undefined;
  while (!signal.aborted) {
    const found = await Promise.all(paths.map((path) => readFile(path, 'utf8'))).catch((error: Error) => error);
    const read = found instanceof Error ? found.message : found.join('\0');
    if (read !== state && read === lastRead) {
      const isFirst = state === undefined && read === firstRead;
      state = read;
      try {
        if (found instanceof Error) throw found;
        await use(...found);
        if (!isFirst) onUsed?.();
      } catch (error) {
        onError(error);
      }
    }
    firstRead ??= read;
    lastRead = read;
    await pause(read === state ? INTERVAL_MS : SETTLE_MS, signal);
  }
}
