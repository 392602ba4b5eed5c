/** Sign-ins that applications share, on two replicas at once. */
import { test } from 'vitest';
import { raceContinuations } from '../support/continue-races.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { quickOrLong } from '../support/soak.ts';

test('nobody continues with a sign-in after its revocation has answered', { timeout: 5_400_000 }, async () => {
  await using fixture = await LoginFixture.open();
  // Each of the nine ways to end it.
  await raceContinuations(fixture, quickOrLong(18, 9 * 300));
});
