/** Calls that race on two replicas, many times over. */
import { test } from 'vitest';
import { raceForPlaces, raceListWithScans } from '../support/check-in-races.ts';
import {
  deleteWhileCheckingIn,
  raceCheckInsWithDeletes,
  raceCheckInsWithUndos,
  raceExchanges,
  raceRenewals,
  raceRevocations,
} from '../support/races.ts';
import { quickOrLong } from '../support/soak.ts';

test('no check-in commits after a delete has answered, on either of two replicas', () =>
  raceCheckInsWithDeletes(quickOrLong(32, 1_000)));

test('a delete is not starved by callers who check in without a pause', () => deleteWhileCheckingIn(48));

test('check-ins and undos that race on two replicas add up to what is left', () =>
  raceCheckInsWithUndos(quickOrLong(50, 1_000)));

test('exchanges that race on two replicas all get the one session', () => raceExchanges(quickOrLong(25, 1_000)));

test('renewals that race on two replicas all get the one successor', () => raceRenewals(quickOrLong(12, 300)));

test('nothing that races a revocation on two replicas outlives it', () => raceRevocations(quickOrLong(32, 300)));

test('scans that race on two replicas fill exactly the places of an event', () =>
  raceForPlaces({ capacity: quickOrLong(20, 100), scans: quickOrLong(80, 1_000) }));

test('a copy of the list that is read while scans and changes race has all of them', () =>
  raceListWithScans(
    quickOrLong({ attendees: 60, changes: 60, pageSize: 7 }, { attendees: 100_000, changes: 5_000, pageSize: 100 }),
  ));
