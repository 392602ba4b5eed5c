/** Instants as people type them. */
import { expect, test } from 'vitest';
import { parseInstant } from '../../../../src/modules/console/parts/moment.ts';

test.each([
  ['27 Nov 2026, 14:30', '2026-11-27T14:30:00Z'],
  ['27 November 2026 14:30:05', '2026-11-27T14:30:05Z'],
  // Copied from a page.
  ['1\u00a0Mar\u00a02026, 10:11:12', '2026-03-01T10:11:12Z'],
  ['1 mar 2026', '2026-03-01T00:00:00Z'],
  ['2026-03-01T09:05', '2026-03-01T09:05:00Z'],
  ['2026-03-01T09:05:06Z', '2026-03-01T09:05:06Z'],
  ['15 Jun 0026, 18:00', '0026-06-15T18:00:00Z'],
  ['0026-06-15 18:00', '0026-06-15T18:00:00Z'],
  ['31 Feb 2026', undefined],
  ['29 Feb 0026', undefined],
  ['2026-13-01', undefined],
  ['1 Mai 2026', undefined],
  ['1 Mar 2026, 24:00', undefined],
  ['yesterday', undefined],
])('a form takes %j as an instant as pages show it', (text, instant) => expect(parseInstant(text)).toBe(instant));
