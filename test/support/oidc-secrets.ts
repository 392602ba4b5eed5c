/** A client of OpenID Connect, for the scanner that looks for secrets: each of its requests, right and wrong. */
import { hash, randomBytes } from 'node:crypto';
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { AdminService } from '../../gen/usher/v1/admin_pb.ts';
import { request } from './http.ts';
import { authorizationOf } from './oidc.ts';
import { basicOf } from './oidc-client.ts';
import type { SecretScanner } from './secret-scanner.ts';
import { REDIRECT_URI } from './service.ts';

const ADMIN = AdminService.method;
/** What a user shows to a client. */
const PROFILE = ['e-mail', 'name'];
/** What an answer of the token endpoint has. */
const TOKENS = ['ID token', 'access token', 'refresh token', 'nonce', ...PROFILE];

interface AdminAnswer {
  readonly application: { readonly clientId: string };
  readonly apiKey: string;
  readonly redirectUrl: string;
}

interface ScannedCalls {
  readonly url: string;
  readonly scanner: SecretScanner;
  readonly user: { readonly id: string };
  admin(method: DescMethodUnary, fields: JsonObject, allowed?: readonly string[]): Promise<AdminAnswer>;
}

/** Registers a client, and returns what uses it. */
export async function registerClient({ url, scanner, user, admin }: ScannedCalls) {
  const fields = { name: 'Client', redirectUris: [REDIRECT_URI], openIdConnect: true };
  const { application, apiKey } = await admin(ADMIN.createApplication, fields, ['client secret']);
  scanner.keep('client secret', apiKey);
  const { clientId } = application;
  const basic = basicOf({ clientId, apiKey });
  let tokens: Record<string, string> = {};

  const look = async (where: string, given: Parameters<typeof request>[1], allowed: readonly string[] = []) => {
    const reply = await request(url, given);
    scanner.lookAt(`${where} of OpenID Connect`, { ...reply, bytes: Buffer.from(reply.body), trailers: {} }, allowed);
    return reply;
  };
  const post = (
    path: string,
    form: Record<string, string>,
    allowed?: readonly string[],
    headers: Record<string, string> = basic,
  ) =>
    look(
      path,
      {
        path,
        body: new URLSearchParams(form).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      },
      allowed,
    );

  /** Signs the user in and redeems the code, after all that can go wrong with it. */
  async function signIn(): Promise<void> {
    const verifier = scanner.keep('verifier', randomBytes(32).toString('base64url'));
    const state = scanner.keep('state', `planted-state ü?&="${randomBytes(8).toString('hex')}`);
    const nonce = scanner.keep('nonce', `planted-nonce ü?&="${randomBytes(8).toString('hex')}`);
    const challenge = hash('sha256', verifier, 'base64url');
    const wanted = {
      state,
      nonce,
      code_challenge: challenge,
      scope: 'openid email profile',
      response_mode: 'form_post',
    };
    const path = `/oidc/authorize?${authorizationOf({ clientId }, wanted)}`;
    await look('a refusal', { path: `${path}&prompt=none` }, ['state']);
    const { headers } = await look('/oidc/authorize', { path });
    const loginIntentId = new URL(String(headers.location)).searchParams.get('intent') ?? '';
    const { redirectUrl } = await admin(ADMIN.completeLogin, { loginIntentId, userId: user.id }, ['code']);
    const page = new URL(redirectUrl);
    const code = scanner.keep('code', page.searchParams.get('code') ?? '');
    await look('/oidc/return', { path: page.pathname + page.search }, ['code', 'state']);
    const form = { grant_type: 'authorization_code', redirect_uri: REDIRECT_URI, code };
    await post('/oidc/token', { ...form, code_verifier: scanner.keep('verifier', 'w'.repeat(43)) });
    await post('/oidc/token', { ...form, code_verifier: verifier, client_secret: apiKey });
    await post('/oidc/token', form, [], basicOf({ clientId, apiKey: `${apiKey}x` }));
    await look('a query', {
      method: 'POST',
      path: `/oidc/token?${new URLSearchParams({ ...form, client_secret: apiKey })}`,
    });
    const { body } = await post('/oidc/token', { ...form, code_verifier: verifier }, TOKENS);
    tokens = JSON.parse(body);
    keepTokens();
    await post('/oidc/token', { ...form, code_verifier: verifier });
    // A page keeps what it was asked for, to show itself in another language.
    await look('/oidc/return', { path: page.pathname + page.search }, ['code']);
  }

  function keepTokens(): void {
    for (const [name, field] of [
      ['access token', 'access_token'],
      ['refresh token', 'refresh_token'],
      ['ID token', 'id_token'],
    ] as const) {
      const token = tokens[field] ?? '';
      scanner.keep(name, token);
      for (const part of token.split('.').slice(1)) scanner.keep(name, part);
    }
  }

  /** Uses the tokens at each endpoint, in the right way and in wrong ones. */
  async function useTokens(): Promise<void> {
    const { access_token: access = '', refresh_token: refresh = '', id_token: hint = '' } = tokens;
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    await look('/oidc/userinfo', { path: '/oidc/userinfo', headers: bearer(access) }, PROFILE);
    await post('/oidc/userinfo', { access_token: access }, PROFILE, {});
    for (const wrong of [`${access}x`, refresh, hint, apiKey])
      await look('a wrong token', { path: '/oidc/userinfo', headers: bearer(wrong) });
    await look('a token in a query', { path: `/oidc/userinfo?access_token=${access}` });
    for (const token of [access, refresh, hint, `${refresh}x`]) await post('/oidc/introspect', { token });
    await post('/oidc/token', { grant_type: 'refresh_token', refresh_token: `${refresh}x` });
    await post('/oidc/token', { grant_type: refresh, refresh_token: access });
    const { body } = await post('/oidc/token', { grant_type: 'refresh_token', refresh_token: refresh }, TOKENS);
    const refreshed = JSON.parse(body);
    if (refreshed.access_token) {
      tokens = refreshed;
      keepTokens();
    }
  }

  /** Ends what the tokens are good for. */
  async function end(): Promise<void> {
    const { access_token: token = '', id_token: hint = '' } = tokens;
    await look('/oidc/logout', { path: `/oidc/logout?id_token_hint=${hint}x` }, ['ID token', ...PROFILE]);
    await post('/oidc/revoke', { token });
    await look('/oidc/logout', { path: `/oidc/logout?id_token_hint=${hint}` });
  }

  return { signIn, useTokens, end };
}
