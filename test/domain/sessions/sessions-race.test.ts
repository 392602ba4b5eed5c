import { test } from 'vitest';
import { raceExchanges, raceRenewals, raceRevocations } from '../../support/races.ts';

test('exchanges that race on two replicas all get the one session', () => raceExchanges(12));

test('renewals that race on two replicas all get the one successor', () => raceRenewals(6));

test('nothing that races a revocation on two replicas outlives it', () => raceRevocations(6));
