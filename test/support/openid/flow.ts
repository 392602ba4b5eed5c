/** The code flow as a strict client does it. */
import { createHash, randomBytes } from 'node:crypto';
import { createLocalJWKSet, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose';
import { expect } from 'vitest';
import { Browser, type Reply } from './browser.ts';
import {
  type Answer,
  authorize,
  basicAuth,
  CALLBACK,
  type Client,
  type ClientRequest,
  type OpenIdProvider,
  readMetadata,
  send,
} from './provider.ts';

export interface Tokens {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly id_token: string;
  readonly refresh_token: string;
  readonly scope?: string;
}

export interface SignedIn {
  readonly answer: Answer;
  readonly tokens: Tokens;
  readonly claims: JWTPayload;
  readonly header: JWTVerifyResult['protectedHeader'];
}

interface SignInOptions {
  readonly browser?: Browser;
  readonly method?: 'GET' | 'POST';
  readonly client?: Client;
  readonly auth?: 'basic' | 'post';
  /** Replaces parameters of the authorization request. Those that are undefined are left out. */
  readonly params?: Readonly<Record<string, string | undefined>>;
  /** The code verifier of the token request. */
  readonly verifier?: string;
}

/** Returns an authorization request, each with another state and nonce. */
export function createRequest(
  { clientId }: Client,
  params: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> {
  const request = {
    client_id: clientId,
    redirect_uri: CALLBACK,
    response_type: 'code',
    scope: 'openid',
    state: randomBytes(8).toString('base64url'),
    nonce: randomBytes(8).toString('base64url'),
    ...params,
  };
  return Object.fromEntries(
    Object.entries(request).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** Signs in and checks all that a client must check (OpenID Connect Core, 3.1.2.7 and 3.1.3.7). */
export async function signIn(provider: OpenIdProvider, options: SignInOptions = {}): Promise<SignedIn> {
  const { client = provider.client, browser = new Browser(provider.route), auth = 'basic', method = 'GET' } = options;
  const request = createRequest(client, options.params);
  const answer = await authorize(provider, request, { browser, method });
  expect(answer).toMatchObject({ place: 'redirect', redirectUri: CALLBACK });
  const { code = '' } = answer.params;
  expect(answer.params).toEqual({
    code: expect.stringMatching(/^[\w-]{16,}$/),
    iss: provider.route.issuer,
    ...(request.state !== undefined && { state: request.state }),
  });
  const verifier = options.verifier === undefined ? {} : { code_verifier: options.verifier };
  const reply = await redeem(provider, client, { code, ...verifier }, auth);
  expect(reply.status, reply.body).toBe(200);
  const tokens: Tokens = JSON.parse(reply.body);
  expect(reply.headers).toMatchObject({ 'cache-control': 'no-store' });
  expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: expect.any(Number) });
  const { claims, header } = await verifyIdToken(provider, client, tokens.id_token);
  expect(claims.nonce).toBe(request.nonce);
  return { answer, tokens, claims, header };
}

/** Sends the code to the token endpoint. */
export function redeem(
  provider: OpenIdProvider,
  client: Client,
  form: Readonly<Record<string, string>>,
  auth: 'basic' | 'post' = 'basic',
): Promise<Reply> {
  return askForTokens(provider, client, { grant_type: 'authorization_code', redirect_uri: CALLBACK, ...form }, auth);
}

export async function askForTokens(
  provider: OpenIdProvider,
  client: Client,
  form: Readonly<Record<string, string>>,
  auth: 'basic' | 'post' = 'basic',
): Promise<Reply> {
  const { token_endpoint: endpoint } = await readMetadata(provider);
  const secret = { client_id: client.clientId, client_secret: client.clientSecret };
  return send(provider, endpoint, {
    form: auth === 'post' ? { ...form, ...secret } : form,
    headers: auth === 'basic' ? basicAuth(client) : {},
  });
}

/** Expects a valid ID token of the client, and returns its parts. */
export async function verifyIdToken(provider: OpenIdProvider, { clientId }: Client, idToken: string) {
  const { jwks_uri: url } = await readMetadata(provider);
  const keys = JSON.parse((await send(provider, url)).body);
  const { payload, protectedHeader } = await jwtVerify(idToken, createLocalJWKSet(keys), {
    algorithms: ['RS256'],
    issuer: provider.route.issuer,
    audience: clientId,
    currentDate: provider.now(),
    clockTolerance: 1,
    requiredClaims: ['sub', 'iat', 'exp'],
  });
  expect(payload.aud).toBe(clientId);
  return { claims: payload, header: protectedHeader };
}

export async function readUserinfo(provider: OpenIdProvider, request: ClientRequest): Promise<Reply> {
  const { userinfo_endpoint: endpoint } = await readMetadata(provider);
  return send(provider, endpoint, request);
}

/** Returns the claims that the access token shows. */
export async function readClaims(provider: OpenIdProvider, { access_token: token }: Tokens): Promise<JWTPayload> {
  const reply = await readUserinfo(provider, { headers: { authorization: `Bearer ${token}` } });
  expect(reply).toMatchObject({
    status: 200,
    headers: { 'content-type': expect.stringMatching(/^application\/json/) },
  });
  return JSON.parse(reply.body);
}

export function createPkce(verifier = randomBytes(32).toString('base64url')) {
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return { verifier, params: { code_challenge: challenge, code_challenge_method: 'S256' } };
}
