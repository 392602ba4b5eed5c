import { afterEach, expect, test, vi } from 'vitest';
import { Progress } from '../src/progress.ts';

afterEach(() => {
  vi.useRealTimers();
});

test('a terminal shows each step at once, in place of the one before, and nothing in the end', () => {
  let screen = '';
  const lines: string[] = [];
  const progress = new Progress((line) => lines.push(line), {
    terminal: { isTTY: true, write: (text: string) => (screen += text) },
  });
  progress.report('Setting up Postgres in .data');
  progress.report('Applying migrations: 1 of 2');
  progress.end();
  expect(screen.split('\r\x1b[K')).toEqual(['', 'Setting up Postgres in .data …', 'Applying migrations: 1 of 2 …', '']);
  expect(lines).toEqual([]);
});

test('elsewhere a line every 30 s says what is under way, until the end', () => {
  vi.useFakeTimers();
  const lines: string[] = [];
  const progress = new Progress((line) => lines.push(line), {
    terminal: {
      write: () => {
        throw new Error('It is no terminal');
      },
    },
  });
  vi.advanceTimersByTime(30_000);
  progress.report('Waiting for Postgres at db:5432');
  vi.advanceTimersByTime(29_999);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(30_001);
  progress.end();
  vi.advanceTimersByTime(60_000);
  expect(lines).toEqual(Array(2).fill('Waiting for Postgres at db:5432'));
});
