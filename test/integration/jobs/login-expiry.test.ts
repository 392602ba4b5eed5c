import { expect, it } from 'vitest';
import { removeExpired } from '../../../src/jobs/expiry.ts';
import { HOUR, MINUTE } from '../../support/clock.ts';
import { LoginFixture } from '../../support/login-fixture.ts';
import { RecordingDatabase } from '../../support/recording-database.ts';
import { Wallet } from '../../support/wallet.ts';

it('login codes, wallet challenges, rate limits and known origins are removed once they have expired', async () => {
  await using fixture = await LoginFixture.open();
  const { clock, service } = fixture;
  await using database = new RecordingDatabase(service.database.url);

  const expectAfterExpiry = async (expected: object) => {
    await removeExpired(database, { now: clock.read(), webhookLogDays: 14 });
    const [counts] = await service.database.sql`
      select (select count(*)::int from login_codes) as codes,
             (select count(*)::int from wallet_challenges) as messages,
             (select count(*)::int from rate_limits) as limits,
             (select count(*)::int from known_origins) as origins,
             (select count(*)::int from login_intents) as intents`;
    expect(counts).toEqual(expected);
  };

  const asked = await fixture.askForCode();
  await fixture.challenge(asked, new Wallet().address);
  await asked.enter(asked.code);
  clock.advance(9 * MINUTE);
  await fixture.challenge(await fixture.askForCode(), new Wallet().address);
  await expectAfterExpiry({ codes: 2, messages: 2, limits: 11, origins: 2, intents: 2 });
  clock.advance(MINUTE);
  await expectAfterExpiry({ codes: 1, messages: 1, limits: 11, origins: 2, intents: 2 });
  clock.advance(50 * MINUTE);
  // Those of addresses are left.
  await expectAfterExpiry({ codes: 0, messages: 0, limits: 8, origins: 2, intents: 2 });
  clock.advance(4 * HOUR);
  await expectAfterExpiry({ codes: 0, messages: 0, limits: 0, origins: 2, intents: 0 });
  clock.advance(176 * 24 * HOUR);
  await expectAfterExpiry({ codes: 0, messages: 0, limits: 0, origins: 2, intents: 0 });
  clock.advance(4 * 24 * HOUR);
  await expectAfterExpiry({ codes: 0, messages: 0, limits: 0, origins: 0, intents: 0 });
});
