/** Passkeys on two replicas at once. */
import { afterAll, test } from 'vitest';
import { PasskeyRaces } from '../support/passkey-races.ts';
import { quickOrLong } from '../support/soak.ts';

const races = await PasskeyRaces.open();
afterAll(() => races[Symbol.asyncDispose]());

const rounds = quickOrLong(12, 300);
const timeout = 3_600_000;

test('a user who adds several at once never has more than ten, and has those that were added', { timeout }, () =>
  races.add(rounds),
);

test('a passkey that is removed while it is used is unknown once that has answered', { timeout }, () =>
  races.remove(rounds),
);

test('an answer that is sent several times, also by others, signs in once', { timeout }, () => races.signIn(rounds));

test('a user who is ended during sign-ins and additions has no session, and no passkey if deleted', { timeout }, () =>
  races.end(rounds),
);
