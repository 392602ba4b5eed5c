/** Sessions that have expired and can still be renewed, on two replicas at once. */
import { test } from 'vitest';
import { raceRenewalsOfExpired, raceRevocationsOfExpired } from '../support/idle-session-races.ts';
import { quickOrLong } from '../support/soak.ts';

test('renewals of an expired session from several devices all get the one successor', () =>
  raceRenewalsOfExpired(quickOrLong(18, 300)));

test('nothing that races a revocation of an expired session outlives it', { timeout: 240_000 }, () =>
  raceRevocationsOfExpired(quickOrLong(28, 300)),
);
