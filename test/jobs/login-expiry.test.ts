import { expect, it, vi } from 'vitest';
import { HOUR, MINUTE } from '../support/clock.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { Wallet } from '../support/wallet.ts';

it('login codes, wallet challenges and rate limits are removed once they have expired', async () => {
  await using fixture = await LoginFixture.open();
  const { clock, service } = fixture;

  /** Leaves behind a row of each kind. */
  const leaveRows = async () => fixture.challenge(await fixture.askForCode(), new Wallet().address);
  /** Waits for the rows that are left after a replica has started, which runs the expiry job at once. */
  const expectAfterExpiry = async (expected: object) => {
    await using _replica = await fixture.startReplica();
    await vi.waitFor(async () => {
      const [counts] = await service.database.sql`
        select (select count(*)::int from login_codes) as codes,
               (select count(*)::int from wallet_challenges) as messages,
               (select count(*)::int from rate_limits) as counts,
               (select count(*)::int from login_intents) as intents`;
      expect(counts).toEqual(expected);
    }, 3_000);
  };

  await leaveRows();
  clock.advance(9 * MINUTE);
  await leaveRows();
  await expectAfterExpiry({ codes: 2, messages: 2, counts: 6, intents: 2 });
  clock.advance(MINUTE + 1);
  await expectAfterExpiry({ codes: 1, messages: 1, counts: 6, intents: 2 });
  clock.advance(HOUR - 10 * MINUTE);
  await expectAfterExpiry({ codes: 0, messages: 0, counts: 3, intents: 2 });
  clock.advance(2 * HOUR);
  await expectAfterExpiry({ codes: 0, messages: 0, counts: 0, intents: 0 });
});
