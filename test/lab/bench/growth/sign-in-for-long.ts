/** What sign-ins with OpenID Connect write where sessions are kept for long, and what users can have beside them. */
import { randomBytes } from 'node:crypto';
import type postgres from 'postgres';
import type { Database } from '../../../../src/database/pool/database.ts';
import { BY_USHER, withAudit } from '../../../../src/domain/audit/audit-event.ts';
import type { CountName } from '../../../../src/domain/core/call.ts';
import { readScope } from '../../../../src/domain/grants/scope.ts';
import { completeLogin } from '../../../../src/domain/login/complete-login.ts';
import { renewSession } from '../../../../src/domain/sessions/renew-session.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { createLogger } from '../../../../src/log.ts';
import { createAuthorizationAnswers } from '../../../../src/modules/oidc/domain/authorization/authorization-answer.ts';
import type { AuthorizationRequest } from '../../../../src/modules/oidc/domain/authorization/authorization-request.ts';
import {
  beginAuthorization,
  FOR_ITSELF,
} from '../../../../src/modules/oidc/domain/authorization/begin-authorization.ts';
import { tokensForCode } from '../../../../src/modules/oidc/domain/issuing/issue-tokens.ts';
import { createOidcProvider } from '../../../../src/modules/oidc/domain/tokens/provider.ts';
import { deriveTokenKeys } from '../../../../src/modules/oidc/domain/tokens/token-keys.ts';
import { rememberSignIn } from '../../../../src/modules/remembered-sign-ins/domain/remember-sign-in.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { type Fixtures, ISSUER, SIGNED_IN_USERS, userAt } from '../fixtures.ts';

export const IDLE_DAYS = 90;
const DAY_SECONDS = 24 * 60 * 60;
const MINUTE_MS = 60_000;
const CONCURRENCY = 16;
const COUNTED: readonly CountName[] = [
  ...(['sign_ins', 'sign_ups', 'wrong_codes', 'emails', 'failed_emails'] as const),
  ...(['webhook_attempts', 'failed_webhook_attempts'] as const),
];
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** Signs each user in once, in a browser that remembers it, and renews the session once. */
export async function signInForLong(
  database: Database,
  sql: postgres.Sql,
  { tokenKey, encryptionKey, ...fixtures }: Fixtures,
  users: number,
): Promise<void> {
  const sessionIdleSeconds = IDLE_DAYS * DAY_SECONDS;
  const application = { ...fixtures.application, sessionIdleSeconds, sessionMaxAgeSeconds: sessionIdleSeconds };
  await sql`
    update applications set open_id_connect = true, single_sign_on = true, session_idle_seconds = ${sessionIdleSeconds},
      session_max_age_seconds = ${sessionIdleSeconds}`;
  const authSigningKeys = [{ ...tokenKey.export({ format: 'jwk' }), kid: 'key', alg: 'EdDSA' }];
  const encryptionKeys = [encryptionKey];
  const tokenKeys = deriveTokenKeys(encryptionKeys);
  const answers = createAuthorizationAnswers(ISSUER, tokenKeys);
  const tokens = await AuthTokens.create(ISSUER, authSigningKeys, answers);
  const provider = createOidcProvider([createRsaJwk()], tokenKeys);
  if (!provider) throw new Error('There is no provider');
  const sessionMaxAgeSeconds = DAY_SECONDS / 2;
  const parts = {
    provider,
    logger: createLogger('silent'),
    issuer: ISSUER,
    sessionMaxAgeSeconds,
    subscribed: new Set<string>(),
  };
  const callAt = (now: Date, action: string) => ({
    ...{
      application,
      now,
      forClient: null,
      resourceScopes: [],
      isPublic: false,
      peer: { ipAddress: '127.0.0.1', userAgent: USER_AGENT },
    },
    run: withAudit(database.within(performance.now() + 30_000), { ...BY_USHER, action, now }),
  });
  const [redirectUri = ''] = application.redirectUris;
  const target = { redirectUri, state: randomBytes(16).toString('hex'), responseMode: 'query' } as const;
  const wanted: AuthorizationRequest & { readonly scope: number } = {
    ...{ scope: readScope('openid email profile'), nonce: randomBytes(16).toString('hex'), codeChallenge: null },
    prompt: '',
    asksConsent: false,
    ...{
      isSilent: false,
      maxAgeSeconds: null,
      requiredAssurance: 1,
      locale: null,
      loginHint: undefined,
      idTokenHint: undefined,
    },
  };

  async function signIn({ id: userId }: { id: string }): Promise<void> {
    const call = callAt(new Date(), 'POST /login/code');
    const loginIntentId = await beginAuthorization(call, application, target, { ...wanted, ...FOR_ITSELF });
    const request = { loginIntentId, userId, ipAddress: '127.0.0.1', userAgent: USER_AGENT };
    const { redirectUrl } = await completeLogin(call, tokens, request);
    const code = new URL(redirectUrl).searchParams.get('code') ?? '';
    await tokensForCode(callAt(new Date(), 'POST /oidc/token'), parts, { code, redirectUri, codeVerifier: undefined });
    const [session] = await sql`select id from sessions where user_id = ${userId}`;
    const later = callAt(new Date(Date.now() + 10 * MINUTE_MS), 'SessionService/RenewSession');
    await renewSession(later, parts, { sessionId: session?.id });
    const remembered = {
      applicationId: application.id,
      userId,
      method: 'email',
      assurance: 1,
      authenticatedAt: call.now,
    } as const;
    const browser = { digest: randomBytes(32), address: '192.0.2.1', userAgent: 'Mozilla/5.0' };
    await rememberSignIn(call, browser, remembered, { formerToken: undefined, maxAgeSeconds: sessionIdleSeconds });
  }
  let next = SIGNED_IN_USERS;
  const work = async () => {
    while (next < SIGNED_IN_USERS + users) await signIn(userAt(next++));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}

/** Gives each user an identity and a passkey, and inserts the counts of 90 days. */
export async function addToUsers(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into user_identities (issuer, subject, user_id, provider, created_at)
    select 'https://accounts.google.com', (100000000000000000000 + row_number() over ())::text, id, 'google', now() from users`;
  // An ID of 32 bytes and a P-256 key in COSE.
  await sql`
    insert into passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid,
      is_backup_eligible, is_backed_up, is_user_verified, name, created_at)
    select id, gen_random_uuid(), sha256(id::text::bytea), 'login.example.com',
      substr(sha512(id::text::bytea) || sha256(id::text::bytea), 1, 77), 0, '{hybrid,internal}',
      gen_random_uuid(), true, true, true, 'Firefox on Linux', now() from users`;
  await sql`
    insert into hourly_counts (name, hour, count)
    select name, hour, 1000 from unnest(${[...COUNTED]}::text[]) name,
      generate_series(date_trunc('hour', now()) - interval '90 days', now(), interval '1 hour') hour`;
}
