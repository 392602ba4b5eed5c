/**
 * The sign-in of this browser. The browsers of a user share a session, so its `authTime` may be that of another one. A
 * cookie says when the user signed in here. Only the application can write it.
 */
import type { UsherClient } from './usher-client.ts';

type Signer = Pick<UsherClient, 'sign'>;

/** Returns the value of the cookie. Undefined if the login continued an earlier sign-in, which proves nothing. */
export async function toOwnSignIn(
  client: Signer,
  userId: string,
  authToken: string | null,
): Promise<string | undefined> {
  const seconds = readInstant(authToken);
  return seconds === undefined ? undefined : `${seconds}.${await client.sign(textOf(userId, String(seconds)))}`;
}

/** Returns the seconds since 1970 at which the user signed in here. Undefined if the cookie is missing or forged. */
export async function readOwnSignIn(client: Signer, userId: string, value: string): Promise<number | undefined> {
  const [seconds = '', signature = ''] = value.split('.');
  // HMACs of both are compared, so that the time of the comparison reveals nothing.
  const [given, expected] = await Promise.all([
    client.sign(signature),
    client.sign(textOf(userId, seconds)).then(client.sign),
  ]);
  return given === expected ? Number(seconds) : undefined;
}

function textOf(userId: string, seconds: string): string {
  return `sign-in of ${userId} at ${seconds}`;
}

/** Reads the instant from an auth token that Usher has accepted. `auth_time` is in milliseconds, and before `iat` if continued. */
function readInstant(authToken: string | null): number | undefined {
  try {
    const [, payload = ''] = (authToken ?? '').split('.');
    const { iat, auth_time: authTime } = JSON.parse(
      atob(payload.replace(/[-_]/g, (sign) => (sign === '-' ? '+' : '/'))),
    );
    const isOwn = Number.isSafeInteger(iat) && (authTime === undefined || Math.floor(authTime / 1_000) === iat);
    return isOwn ? iat : undefined;
  } catch {
    return undefined;
  }
}
