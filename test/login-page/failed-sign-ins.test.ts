/** Sign-ins that fail are counted for the chart of the console, and have a reason in the log, however people tried to sign in. */
import { expect, test } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { RecordedLog } from '../support/recorded-log.ts';
import { Wallet } from '../support/wallet.ts';

test('a refused wallet is a failed sign-in, and one that signs in is not', async () => {
  const log = new RecordedLog();
  await using database = await cloneDatabase();
  const fixture = await LoginFixture.open({ database, logger: log.logger });
  const { wallet } = await fixture.createWalletUser();
  const refused = await fixture.askForMessage(wallet.address);
  await refused.send(new Wallet().sign(refused.message));
  const right = await fixture.askForMessage(wallet.address);
  expect((await right.send(wallet.sign(right.message))).status).toBe(303);
  await fixture.close();
  const counts =
    await database.sql`select name, count::int from hourly_counts where name like '%sign_ins' order by name`;
  expect([...counts]).toEqual([
    { name: 'refused_sign_ins', count: 1 },
    { name: 'sign_ins', count: 1 },
  ]);
  // Stored attempts delay no line.
  const lines = log.callLines.filter(({ protocol, reason }) => protocol === 'login' && reason);
  expect(lines.map(({ reason }) => reason)).toEqual(['INVALID_SIGNATURE']);
});
