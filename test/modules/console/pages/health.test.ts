/** When Health warns of a certificate. */
import { expect, test } from 'vitest';
import { readValidity } from '../../../../src/modules/console/pages/health.ts';
import { createCertificate } from '../../../support/certificate.ts';

const DAY_MS = 24 * 60 * 60_000;

test('a certificate should have been renewed a week before it ends', async () => {
  const until = new Date('2030-01-08T00:00:00Z');
  const certificate = await createCertificate('ec', until);
  const at = (ms: number) => readValidity(certificate, new Date(until.getTime() + ms));
  expect(at(-7 * DAY_MS)).toEqual({ until, isLate: false });
  expect(at(-7 * DAY_MS + 1)).toEqual({ until, isLate: true });
  expect(at(DAY_MS)).toEqual({ until, isLate: true });
  expect(readValidity(undefined, until)).toBeUndefined();
});
