/**
 * Fails a file that leaves a service running: files share a process, and its jobs would go on in the next ones. Run for
 * each file before its own code, so that its hook is the last.
 */
import { afterAll, expect } from 'vitest';
import { openServices } from './open-services.ts';

afterAll(() => {
  const left = [...openServices];
  openServices.clear();
  expect(left, 'services that the file has not closed').toEqual([]);
});
