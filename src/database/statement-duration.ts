import type { Statement } from './statement.ts';

/** Takes note of a statement that has ended. `errorType` is the class of its error. */
export type RecordStatement = (name: string, seconds: number, errorType: string) => void;

/** Records how long the statement takes, from the call until its rows have come, retries included. */
export function recordWhenSettled<Rows>({ name }: Statement<Rows>, rows: Promise<Rows>, record: RecordStatement): void {
  const startedAt = performance.now();
  const secondsSince = () => (performance.now() - startedAt) / 1_000;
  rows.then(
    () => record(name, secondsSince(), ''),
    (error: unknown) => record(name, secondsSince(), error instanceof Error ? error.constructor.name : typeof error),
  );
}
