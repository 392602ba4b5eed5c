/** The package for tests of applications, as they use it. */
import { expect, test } from 'vitest';
import { startUsher } from '../../src/testing/usher-testing.ts';

test('signs a user in by e-mail, tells the application, and ends the session after 16 idle minutes', async () => {
  await using usher = await startUsher();
  const shop = await usher.createApplication({ redirectUris: ['http://127.0.0.1/callback'] });
  const login = { clientId: shop.clientId, redirectUri: 'http://127.0.0.1/callback', state: 'abc' };
  const { authUrl } = await shop.client.auth.generateAuthUrl(login);
  const answer = await usher.signIn(authUrl, 'ada@example.com');
  expect(answer).toMatchObject({ state: 'abc', authToken: expect.any(String) });
  const { user, session } = await shop.client.auth.exchangeToken({ authToken: answer.authToken ?? '' });
  expect(user?.email).toBe('ada@example.com');
  const sessionId = session?.id ?? '';
  const check = () => shop.client.sessions.checkSession({ sessionId }).then(({ active }) => active);
  expect(await check()).toBe(true);
  const before = usher.clock.now().getTime();
  await usher.clock.advance('16m');
  expect(usher.clock.now().getTime() - before).toBeGreaterThanOrEqual(16 * 60_000);
  expect(await check()).toBe(false);
});
