/** Interface, "States": a lifetime ends when it ends, also for who has begun to ask before. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MINUTE, TestClock } from '../support/clock.ts';
import { RawConnection } from '../support/raw-connection.ts';
import { createTenant, createTestUser, logIn, startTestService } from '../support/service.ts';

it.each([
  ['/api/oauth/exchange', { status: false }],
  ['/usher.v1.AuthService/ExchangeToken', { code: 'unauthenticated' }],
])('a token that expires before the request has come is refused: %s', async (path, refusal) => {
  const clock = new TestClock(new Date());
  await using service = await startTestService({ clock: clock.read });
  const tenant = await createTenant(service);
  const body = JSON.stringify({ authToken: await logIn(service, tenant, await createTestUser(service)) });
  using connection = await RawConnection.open(service.port);
  connection.send(
    `POST ${path} HTTP/1.1\r\nhost: usher.test\r\nx-api-key: ${tenant.apiKey}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`,
  );
  // Long enough for the call to have begun.
  await sleep(100);
  clock.advance(15 * MINUTE);
  connection.send(body.slice(10));
  const reply = await connection.reply();
  expect({ status: reply.status, ...JSON.parse(reply.body) }).toMatchObject({
    ...refusal,
    message: 'Invalid or expired token',
  });
});
