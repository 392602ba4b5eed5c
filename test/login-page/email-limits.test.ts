/** How many codes may be asked for. */
import { afterAll, expect, it } from 'vitest';
import { HOUR, MINUTE } from '../support/clock.ts';
import { formOf, randomAddress, requestCode } from '../support/login-browser.ts';
import { LoginFixture } from '../support/login-fixture.ts';
import { createTestUser } from '../support/service.ts';

const TOO_MANY = 'Too many codes were requested. Please try again in an hour.';

const fixture = await LoginFixture.open();
afterAll(() => fixture.close());

/** By default, each request has an IP address of its own. */
const ask = (email: string, address?: string) => requestCode(fixture.service, fixture.tenant, email, address);

it('five codes an hour go to an address in whatever case, and the sixth request shows why not', async () => {
  const { email } = await createTestUser(fixture.service, { email: 'five@Example.com' });
  for (const spelling of ['five', 'FIVE', 'Five', 'fivE', ' five']) {
    expect((await ask(`${spelling}@example.com`)).alert).toBe('');
  }
  const refused = await ask('fIVE@example.com');
  expect(refused.alert).toBe(TOO_MANY);
  expect(formOf(refused, '/login/email').fields.email).toBe('fIVE@example.com');
  expect(fixture.mailbox.sentTo(email)).toHaveLength(5);
  expect((await ask('six@example.com')).alert).toBe('');
});

it('twenty codes an hour may be asked for from one IP address, and a refusal writes nothing', async () => {
  const address = randomAddress();
  for (let count = 0; count < 20; count++) expect((await ask(`a.${count}@example.com`, address)).alert).toBe('');
  const rows = () => fixture.service.database.sql`select ctid, * from rate_limits order by key`;
  const before = await rows();
  expect((await ask('a.20@example.com', address)).alert).toBe(TOO_MANY);
  expect(await rows()).toEqual(before);
  expect((await ask('a.20@example.com')).alert).toBe('');
});

it('each request counts for an hour, for an address without a user too', async () => {
  const areAllowed = async (...waits: number[]) => {
    const allowed = [];
    for (const wait of waits) {
      fixture.clock.advance(wait);
      allowed.push((await ask('sliding@example.com')).alert === '');
    }
    return allowed;
  };
  // At 0, 10, 20, 30 and 40 minutes.
  expect(await areAllowed(0, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE, 10 * MINUTE)).toEqual(Array(5).fill(true));
  // The first ends at 60:00.000, and a refusal in between does not delay that.
  expect(await areAllowed(20 * MINUTE - 1, 1, 0)).toEqual([false, true, false]);
  expect(await areAllowed(10 * MINUTE - 1, 1, 0)).toEqual([false, true, false]);
  expect(await areAllowed(HOUR, 0, 0, 0, 0, 0)).toEqual([true, true, true, true, true, false]);
});
