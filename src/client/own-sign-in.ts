/**
 * The sign-in of this browser. The browsers of a user share a session, so its `authTime` may be that of another one. A
 * cookie says when the user signed in here. Only the application can write it.
 */
import type { UsherClient } from './usher-client.ts';

type Signer = Pick<UsherClient, 'sign'>;

interface SignInHere {
  /** In seconds since 1970. */
  readonly at: number;
  /** As in ActiveSession, but of the sign-in in this browser. */
  readonly assurance: number;
}

/**
 * Returns the value of the cookie. Undefined if the login continued an earlier sign-in, which proves nothing.
 *
 * @param highest the level that Usher has answered. Earlier versions answer none.
 */
export async function toOwnSignIn(
  client: Signer,
  userId: string,
  authToken: string | null,
  highest: number,
): Promise<string | undefined> {
  const signIn = readToken(authToken);
  if (!signIn) return undefined;
  const text = `${signIn.at}-${Math.max(1, Math.min(signIn.assurance, highest))}`;
  return `${text}.${await client.sign(textOf(userId, text))}`;
}

/** Returns undefined if the cookie is missing or forged. */
export async function readOwnSignIn(client: Signer, userId: string, value: string): Promise<SignInHere | undefined> {
  const [text = '', signature = ''] = value.split('.');
  // HMACs of both are compared, so that the time of the comparison reveals nothing.
  const [given, expected] = await Promise.all([
    client.sign(signature),
    client.sign(textOf(userId, text)).then(client.sign),
  ]);
  if (given !== expected) return undefined;
  // Cookies of earlier versions have no level.
  const [at, assurance = 1] = text.split('-').map(Number);
  return at === undefined ? undefined : { at, assurance };
}

function textOf(userId: string, text: string): string {
  return `sign-in of ${userId} at ${text}`;
}

/** Reads an auth token that Usher has accepted. `auth_time` is in milliseconds, and before `iat` if continued. */
function readToken(authToken: string | null): SignInHere | undefined {
  try {
    const [, payload = ''] = (authToken ?? '').split('.');
    const {
      iat,
      auth_time: authTime,
      acr,
    } = JSON.parse(atob(payload.replace(/[-_]/g, (sign) => (sign === '-' ? '+' : '/'))));
    const isOwn = Number.isSafeInteger(iat) && (authTime === undefined || Math.floor(authTime / 1_000) === iat);
    return isOwn ? { at: iat, assurance: ['1', '2', 'phr'].indexOf(acr) + 1 } : undefined;
  } catch {
    return undefined;
  }
}
