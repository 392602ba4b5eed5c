/** How recent a sign-in at a provider must be, and when it counts as one of before. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { ServiceError } from '../../../src/domain/core/errors.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../src/domain/core/own-applications.ts';
import {
  findEarlierSignIn,
  freshnessOf,
  requireAskable,
} from '../../../src/modules/providers/domain/provider-freshness.ts';

const NOW = new Date();
const BEGUN = new Date(NOW.getTime() - 5_000);
const intent = { applicationId: randomUUID(), maxAgeSeconds: null as number | null, prompt: '' };
const ZERO = { maxAgeSeconds: 0, isRequired: true };

function detailOf<Result>(work: () => Result): Result | string | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof ServiceError) return error.detail;
    throw error;
  }
}

test.each<[string, Partial<typeof intent>, 'login' | 'passkeys' | 'again', object | undefined]>([
  ['any login', {}, 'login', undefined],
  ['a second one in a login', {}, 'again', undefined],
  ['the passkeys', {}, 'passkeys', ZERO],
  ['a login that demands a new one', { prompt: 'LOGIN', maxAgeSeconds: 60 }, 'login', ZERO],
  ['a login that demands a recent one', { maxAgeSeconds: 60 }, 'login', { maxAgeSeconds: 60, isRequired: true }],
  ['a login that demands one of this instant', { maxAgeSeconds: 0 }, 'login', ZERO],
  [
    'the account page',
    { applicationId: ACCOUNT_APPLICATION_ID },
    'login',
    { maxAgeSeconds: 86_400, isRequired: false },
  ],
])('for %s', (_, changes, purpose, freshness) => {
  expect(freshnessOf({ ...intent, ...changes }, purpose)).toEqual(freshness);
});

test.each<[string, object | undefined, string | undefined]>([
  ['openid', ZERO, undefined],
  ['github', undefined, undefined],
  ['github', { ...ZERO, isRequired: false }, undefined],
  ['github', ZERO, 'GitHub has no prompt=login and no auth_time'],
])('%s can be asked for %j: %s', (type, freshness, detail) => {
  expect(detailOf(() => requireAskable({ type } as never, freshness as never))).toBe(detail);
});

const HOUR_AGO = { maxAgeSeconds: 3_600, isRequired: true };
const [MINUTE, HOUR] = [60_000, 3_600_000];

test.each<[string, typeof HOUR_AGO | undefined, number | undefined, Date | string | null]>([
  ['any will do', undefined, BEGUN.getTime() - 5 * HOUR, null],
  ['none is known, and one is needed', HOUR_AGO, undefined, 'no auth_time'],
  ['none is known, and none is needed', { ...HOUR_AGO, isRequired: false }, undefined, NOW],
  ['within the login', HOUR_AGO, BEGUN.getTime(), null],
  ['within the login, by a clock that is behind', HOUR_AGO, BEGUN.getTime() - MINUTE, null],
  ['before the login', HOUR_AGO, BEGUN.getTime() - MINUTE - 1, new Date(BEGUN.getTime() - MINUTE - 1)],
  ['as old as may be', HOUR_AGO, BEGUN.getTime() - HOUR - MINUTE, new Date(BEGUN.getTime() - HOUR - MINUTE)],
  ['too old', HOUR_AGO, BEGUN.getTime() - HOUR - MINUTE - 1, 'auth_time is too old'],
  ['by a clock that is ahead', HOUR_AGO, NOW.getTime() + MINUTE, null],
  ['in the future', HOUR_AGO, NOW.getTime() + MINUTE + 1, 'auth_time is in the future'],
])('a sign-in there: %s', (_, freshness, at, expected) => {
  const identity = { authenticatedAt: at === undefined ? undefined : new Date(at) };
  const found = detailOf(() =>
    findEarlierSignIn({ now: NOW }, freshness, { begunAt: BEGUN } as never, identity as never),
  );
  expect(found).toEqual(expected);
});
