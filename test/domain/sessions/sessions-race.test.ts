import { expect, test } from 'vitest';
import { HttpPool } from '../../support/http-pool.ts';
import { createTenant, createTestUser, logIn, startTestService } from '../../support/service.ts';

const ROUNDS = 300;
const CALLERS = 16;

interface ExchangeReply {
  readonly data: { readonly session: { readonly id: string; readonly createdAt: string } };
}

test('exchanges that race on two instances all get the one session', { timeout: 60_000 }, async () => {
  await using first = await startTestService();
  await using second = await startTestService({ database: first.database, like: first.config });
  const tenant = await createTenant(first);
  const user = await createTestUser(first);
  const authToken = await logIn(first, tenant, user);
  const headers = { 'x-api-key': tenant.apiKey };
  using atFirst = new HttpPool(first, headers);
  using atSecond = new HttpPool(second, headers);
  const { sql } = first.database;

  const winners: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const replies = await Promise.all(
      Array.from({ length: CALLERS }, (_, caller) =>
        (caller % 2 === 0 ? atFirst : atSecond).call<ExchangeReply>('POST', '/api/oauth/exchange', { authToken }),
      ),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(CALLERS).fill(200));
    const [session, ...others] = new Set(replies.map(({ body }) => JSON.stringify(body.data.session)));
    expect(others, `round ${round}`).toEqual([]);

    // Every other session expires, the rest vanish: taking over and inserting both race.
    const kept =
      round % 2 === 0
        ? await sql`update sessions set expires_at = now() - interval '1 second' returning id`
        : await sql`delete from sessions returning id`;
    expect(kept).toEqual([{ id: JSON.parse(session ?? '').id }]);
    winners.push(kept[0]?.id);
  }
  expect(new Set(winners).size).toBe(ROUNDS);
});
