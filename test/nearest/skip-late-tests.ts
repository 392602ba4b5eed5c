/** Ends a run of the nearest tests in time: what begins late is skipped, unless it notices a planted fault. */
import { beforeEach, inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    nearest: {
      /** When the last tests begin, in milliseconds since the epoch. */
      readonly endsAt: number;
      /** Regular expressions for the titles of tests that run in any case, by the path of their file. */
      readonly titles: Readonly<Record<string, readonly string[]>>;
    };
  }
}

const { endsAt, titles } = inject('nearest');
// Tests may replace the clock.
const { now } = Date;

beforeEach(({ task, skip }) => {
  if (now() < endsAt) return;
  const title = task.fullTestName.replaceAll(' > ', ' ');
  const isNoticing = titles[task.file.filepath]?.some((pattern) => new RegExp(pattern).test(title));
  if (!isNoticing) skip('no time is left');
});
