import { expect, test } from 'vitest';
import { readOwnSignIn, toOwnSignIn } from '../../src/client/own-sign-in.ts';
import { createUsherClient } from '../../src/client/usher-client.ts';

const client = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
const IAT = 1_800_000_000;

function tokenOf(claims: object): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
}

test.each([{ iat: IAT }, { iat: IAT, auth_time: IAT * 1_000 + 999 }])(
  'a sign-in of this browser counts',
  async (claims) => {
    const value = await toOwnSignIn(client, 'u1', tokenOf(claims));
    expect(await readOwnSignIn(client, 'u1', value ?? '')).toBe(IAT);
  },
);

test('a sign-in that was continued proves nothing', async () => {
  const token = tokenOf({ iat: IAT, auth_time: (IAT - 1) * 1_000 });
  expect(await toOwnSignIn(client, 'u1', token)).toBeUndefined();
});

test('the sign-in of another user who shares the browser is not that of this one', async () => {
  const value = await toOwnSignIn(client, 'u1', tokenOf({ iat: IAT }));
  expect(await readOwnSignIn(client, 'u2', value ?? '')).toBeUndefined();
});
