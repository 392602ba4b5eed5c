import { readFile } from 'node:fs/promises';
import { pause } from '../domain/pause.ts';

/** Polls, because Kubernetes replaces a mounted secret by a symbolic link, which no watcher reports. */
const INTERVAL_MS = 2_000;

export interface FileWatch {
  readonly signal: AbortSignal;
  /** May throw for a text that cannot be used. */
  readonly use: (text: string) => void;
  readonly onUsed: () => void;
  /** The previous text stays in use. */
  readonly onError: (error: unknown) => void;
}

/** Uses the text of the file whenever it changes, until the signal is aborted. The text of the start is in use already. */
export async function watchFile(path: string, { signal, use, onUsed, onError }: FileWatch): Promise<void> {
  const read = () => readFile(path, 'utf8').catch((error: Error) => error);
  const stateOf = (found: string | Error) => (found instanceof Error ? found.message : found);
  let seen = stateOf(await read());
  while (!signal.aborted) {
    await pause(INTERVAL_MS, signal);
    const found = await read();
    if (stateOf(found) === seen) continue;
    seen = stateOf(found);
    try {
      if (found instanceof Error) throw found;
      use(found);
      onUsed();
    } catch (error) {
      onError(error);
    }
  }
}
