/** The requests that are compared. Each step checks its response. */
import { createHash, type KeyObject, verify } from 'node:crypto';
import { type Fixtures, userAt } from '../fixtures.ts';
import type { Client } from '../load/client.ts';
import type { Facts, Step } from '../scenario.ts';

const VERIFIER = 'v'.repeat(43);
const SCOPE = 'openid profile email';

/** What both providers know of the application. */
interface Registration {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly redirectUri: string;
}

export function registrationOf({ apiKey, application: { clientId, redirectUris } }: Fixtures): Registration {
  return { clientId, clientSecret: apiKey, redirectUri: redirectUris[1] ?? '' };
}

export function createTokenSteps(path: string, registration: Registration, publicKey: KeyObject, headers = {}) {
  const { clientId, clientSecret, redirectUri } = registration;
  const credentials = Buffer.from(`${clientId}:${encodeURIComponent(clientSecret)}`).toString('base64');
  const ask = async (client: Client, { number = '' }: Facts, fields: Record<string, string>): Promise<Facts> => {
    const reply = await client.send({
      path,
      headers: {
        ...headers,
        authorization: `Basic ${credentials}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(fields).toString(),
    });
    const { access_token: accessToken, refresh_token: refreshToken, id_token: idToken } = JSON.parse(reply.body);
    requireUser(readIdToken(idToken, publicKey), number);
    return { number, accessToken, refreshToken };
  };
  const token: Step = {
    name: 'token by code',
    run: (client, facts) =>
      ask(client, facts, {
        grant_type: 'authorization_code',
        code: facts.code ?? '',
        redirect_uri: redirectUri,
        code_verifier: VERIFIER,
      }),
  };
  const refresh: Step = {
    name: 'token by refresh token',
    run: (client, facts) =>
      ask(client, facts, { grant_type: 'refresh_token', refresh_token: facts.refreshToken ?? '' }),
  };
  return { token, refresh };
}

export function authorizationOf({ clientId, redirectUri }: Registration): URLSearchParams {
  return new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: SCOPE,
    state: 'the state of a request',
    nonce: 'the nonce of a request',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
  });
}

export function parameterOf(url: string | undefined, name: string): string {
  const value = new URL(url ?? '').searchParams.get(name);
  if (value === null) throw new Error(`No ${name} in ${url}`);
  return value;
}

/** Returns whose ID token it is. @throws Error if the key has not signed it */
function readIdToken(token: string, publicKey: KeyObject): string {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    publicKey,
    Buffer.from(signature, 'base64url'),
  );
  if (!isSigned) throw new Error('The ID token has another signature');
  const { sub, email } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  if (!email) throw new Error('The ID token lacks the claims of its scope');
  return sub;
}

export function requireUser(userId: string, number: string): void {
  if (userId !== userAt(Number(number)).id) throw new Error(`The answer is of ${userId}`);
}
