import { startUsher } from 'usher-testing';
import { expect, test } from 'vitest';

test('Ada signs in', async () => {
  await using usher = await startUsher();
  const { client, clientId } = await usher.createApplication();
  const login = { clientId, redirectUri: 'http://127.0.0.1/callback', state: 'random' };
  const { authUrl } = await client.auth.generateAuthUrl(login);
  const { authToken = '' } = await usher.signIn(authUrl, 'ada@example.com');
  const { user } = await client.auth.exchangeToken({ authToken });
  expect(user?.email).toBe('ada@example.com');
});
