import { randomUUID, sign } from 'node:crypto';
import { TOKEN_LIFETIME_SECONDS, TOKEN_TYPE, toSeconds } from '../../src/domain/login/verify-token.ts';
import { type Fixtures, ISSUER, SIGNING_KEY_ID } from './fixtures.ts';

/** Returns the auth token of a new login. It does without jose because the benchmark needs many tokens. */
export function signToken({ application, tokenKey }: Fixtures, userId: string): string {
  const issuedAt = toSeconds(new Date());
  const claims = {
    iss: ISSUER,
    aud: application.clientId,
    sub: userId,
    jti: randomUUID(),
    iat: issuedAt,
    exp: issuedAt + TOKEN_LIFETIME_SECONDS,
  };
  const signed = `${encode({ alg: 'EdDSA', typ: TOKEN_TYPE, kid: SIGNING_KEY_ID })}.${encode(claims)}`;
  return `${signed}.${sign(null, Buffer.from(signed), tokenKey).toString('base64url')}`;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
