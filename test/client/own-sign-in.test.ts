import { expect, test } from 'vitest';
import { readOwnSignIn, toOwnSignIn } from '../../src/client/own-sign-in.ts';
import { createUsherClient } from '../../src/client/usher-client.ts';

const client = createUsherClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'any' });
const IAT = 1_800_000_000;

function tokenOf(claims: object): string {
  return `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`;
}

test.each([
  [{ iat: IAT }, 3, 1],
  [{ iat: IAT, auth_time: IAT * 1_000 + 999, acr: '1' }, 3, 1],
  [{ iat: IAT, acr: '2' }, 3, 2],
  [{ iat: IAT, acr: 'phr' }, 3, 3],
  // Usher does not believe another issuer, and earlier versions of Usher answer nothing.
  [{ iat: IAT, acr: 'phr' }, 1, 1],
  [{ iat: IAT, acr: 'phr' }, 0, 1],
])('a sign-in of this browser counts: %j, answered as %d', async (claims, highest, assurance) => {
  const value = await toOwnSignIn(client, 'u1', tokenOf(claims), highest);
  expect(await readOwnSignIn(client, 'u1', value ?? '')).toEqual({ at: IAT, assurance });
});

test('a cookie of an earlier version has one factor', async () => {
  const value = `${IAT}.${await client.sign(`sign-in of u1 at ${IAT}`)}`;
  expect(await readOwnSignIn(client, 'u1', value)).toEqual({ at: IAT, assurance: 1 });
});

test('a sign-in that was continued proves nothing', async () => {
  const token = tokenOf({ iat: IAT, auth_time: (IAT - 1) * 1_000 });
  expect(await toOwnSignIn(client, 'u1', token, 3)).toBeUndefined();
});

test('the sign-in of another user who shares the browser is not that of this one', async () => {
  const value = await toOwnSignIn(client, 'u1', tokenOf({ iat: IAT }), 3);
  expect(await readOwnSignIn(client, 'u2', value ?? '')).toBeUndefined();
});
