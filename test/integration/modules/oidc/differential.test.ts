/**
 * The same 200 requests to Usher and to a certified provider: where the answer goes, its status and its error code. What
 * differs is listed with its reason.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { createPkce, createRequest } from '../../../support/openid/flow.ts';
import {
  authorize,
  basicAuth,
  CALLBACK,
  type OpenIdProvider,
  readMetadata,
  send,
} from '../../../support/openid/provider.ts';
import { startReferenceProvider } from '../../../support/openid/reference-provider.ts';
import { startUsherProvider } from '../../../support/openid/usher-provider.ts';

type Outcome = Readonly<Record<string, string | number | undefined>>;
interface Difference {
  readonly reason: string;
  readonly applies: (changes: Changes, usher: Outcome, reference: Outcome) => boolean;
}

const [usher, reference] = await Promise.all([startUsherProvider(), startReferenceProvider()]);

afterAll(async () => {
  await usher[Symbol.asyncDispose]();
  await reference[Symbol.asyncDispose]();
});

/** Undefined leaves the parameter out; several values repeat it. */
type Values = string | readonly string[] | undefined;
type Changes = Readonly<Record<string, Values>>;

const LONG = 'x'.repeat(5_000);
const pkce = createPkce();
const VERIFIER = pkce.verifier;

/** What may be wrong with an authorization request, or unusual. `client` stands for the ID of the client. */
const AUTHORIZE: Readonly<Record<string, readonly Values[]>> = {
  client_id: [undefined, '', 'unknown', ['client', 'client']],
  redirect_uri: [
    undefined,
    '',
    `${CALLBACK}/`,
    `${CALLBACK}?a=b`,
    `${CALLBACK}#fragment`,
    'http://client.test/callback',
    'not a URI',
    [CALLBACK, CALLBACK],
  ],
  response_type: [
    undefined,
    '',
    'token',
    'id_token',
    'code id_token',
    'code token',
    'none',
    'unknown',
    ['code', 'code'],
  ],
  response_mode: ['query', 'form_post', 'fragment', 'unknown', ['query', 'query']],
  scope: [undefined, '', 'profile', 'openid unknown', 'openid profile email offline_access', ['openid', 'openid']],
  state: [undefined, '', 'ümlaut & <tag>', ['a', 'b']],
  nonce: [undefined, '', ['a', 'b']],
  code_challenge: [pkce.params.code_challenge, 'short', LONG],
  code_challenge_method: ['S256', 'plain', 'unknown'],
  prompt: ['none', 'login', 'consent', 'select_account', 'none login', 'unknown', ''],
  max_age: ['0', '10', '-1', '1.5', 'text', ''],
  request: ['eyJhbGciOiJub25lIn0.e30.', 'not a JWT'],
  request_uri: ['https://client.test/request', 'not a URI'],
  registration: ['{}', 'not JSON'],
  id_token_hint: ['not a JWT'],
  display: ['page', 'unknown'],
  ui_locales: ['de', 'not a language!'],
  claims: ['{}', 'not JSON'],
  acr_values: ['1 2'],
  login_hint: ['ada@example.com', LONG],
  unknown: ['value', ['a', 'b']],
};

/** What may be wrong with a token request. `code`, `client` and `other` stand for those of the test. */
const TOKEN: Readonly<Record<string, readonly Values[]>> = {
  grant_type: [
    undefined,
    '',
    'unknown',
    'password',
    'client_credentials',
    'implicit',
    ['authorization_code', 'authorization_code'],
  ],
  code: [undefined, '', 'unknown', LONG, 'used', ['code', 'code']],
  redirect_uri: [undefined, '', `${CALLBACK}/`, 'https://other.test', [CALLBACK, CALLBACK]],
  code_verifier: [undefined, '', 'short', `${VERIFIER}x`, LONG, [VERIFIER, VERIFIER]],
  /** How the client authenticates. */
  auth: ['post', 'none', 'wrong basic', 'wrong post', 'unknown client', 'both', 'other client', 'malformed basic'],
  challenge: [undefined],
  client_id: ['other'],
  unknown: ['value'],
  type: ['application/json', 'text/plain', undefined],
};

/** Each valid but for one or two things. Every run has the same. */
const AUTHORIZE_REQUESTS = generate(AUTHORIZE, 100);
const TOKEN_REQUESTS = generate(TOKEN, 100);

const isRepeated = (value: Changes[string]) => Array.isArray(value);
const has = (changes: Changes, name: string, ...values: readonly Changes[string][]) =>
  name in changes && values.includes(changes[name]);

const AUTHORIZE_DIFFERENCES: readonly Difference[] = [
  {
    reason: 'Answers in the fragment are not offered: they are for flows without a code.',
    applies: (changes, ours) => has(changes, 'response_mode', 'fragment') && ours.error === 'invalid_request',
  },
  {
    reason: 'No registry has the code unsupported_response_mode.',
    applies: (changes, _, theirs) => 'response_mode' in changes && theirs.error === 'unsupported_response_mode',
  },
  {
    reason: 'Prompts that Usher does not know are ignored, as all that it does not know.',
    applies: (changes, ours) => has(changes, 'prompt', 'select_account', 'unknown') && ours.place === 'page',
  },
  {
    reason: 'A hint that cannot be read is no hint.',
    applies: ({ id_token_hint: hint }, ours) => hint !== undefined && ours.place === 'page',
  },
  {
    reason: 'A request without openid is one of OAuth, whatever else it has.',
    applies: ({ scope = '' }, ours, theirs) =>
      !`${scope}`.includes('openid') && ours.place === 'page' && theirs.error === 'invalid_request',
  },
];

const TOKEN_DIFFERENCES: readonly Difference[] = [
  {
    reason: 'The reference has no client credentials. Ours are for a resource alone.',
    applies: (changes, ours) => has(changes, 'grant_type', 'client_credentials') && ours.error === 'invalid_target',
  },
  {
    reason: 'Whatever is wrong with a verifier, the grant is invalid.',
    applies: ({ code_verifier: verifier }, ours, theirs) =>
      verifier !== undefined && ours.error === 'invalid_grant' && theirs.error === 'invalid_request',
  },
  {
    reason: 'A client that uses PKCE need not repeat its redirect URI, as in OAuth 2.1.',
    applies: (changes, ours, theirs) =>
      'redirect_uri' in changes && !changes.redirect_uri && ours.status === 200 && theirs.error === 'invalid_request',
  },
  {
    reason: 'Credentials that cannot be read are wrong credentials.',
    applies: ({ auth }, ours) => auth === 'malformed basic' && ours.error === 'invalid_client',
  },
  {
    reason: 'What is repeated is refused before the client and its grant are looked at.',
    applies: (changes, ours) => Object.values(changes).some(isRepeated) && ours.error === 'invalid_request',
  },
];

describe.each([
  {
    endpoint: 'authorization',
    requests: AUTHORIZE_REQUESTS,
    ask: askAuthorization,
    differences: AUTHORIZE_DIFFERENCES,
  },
  { endpoint: 'token', requests: TOKEN_REQUESTS, ask: askToken, differences: TOKEN_DIFFERENCES },
])('the $endpoint endpoint', ({ requests, ask, differences }) => {
  test('answers as a certified provider does, but for what is listed', async () => {
    expect(requests).toHaveLength(100);
    const unexplained: unknown[] = [];
    const unused = new Set(differences);
    for (const changes of requests) {
      const [ours, theirs] = [await ask(usher, changes), await ask(reference, changes)];
      if (JSON.stringify(ours) === JSON.stringify(theirs)) continue;
      const difference = differences.find(({ applies }) => applies(changes, ours, theirs));
      if (difference) unused.delete(difference);
      else unexplained.push({ changes, ours, theirs });
    }
    expect(unexplained).toEqual([]);
    expect([...unused].map(({ reason }) => reason)).toEqual([]);
  });
});

async function askAuthorization(provider: OpenIdProvider, changes: Changes): Promise<Outcome> {
  const { client } = provider;
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...createRequest(client, { state: 'a state' }), ...changes })) {
    for (const each of [value ?? []].flat()) params.append(name, each === 'client' ? client.clientId : each);
  }
  const { place, status, params: answer } = await authorize(provider, params, { leaves: true });
  const { error, state, iss } = answer;
  return place === 'page' ? { place, isError: String(status >= 400) } : { place, error, state, iss: iss && 'issuer' };
}

async function askToken(provider: OpenIdProvider, changes: Changes): Promise<Outcome> {
  const { client, otherClient } = provider;
  const { auth = 'basic', challenge: _, type, ...fields } = changes;
  const hasChallenge = !('challenge' in changes);
  const contentType = 'type' in changes ? type : 'application/x-www-form-urlencoded';
  const { params: pkce } = createPkce(VERIFIER);
  const asked = createRequest(client, hasChallenge ? pkce : {});
  const { code = '' } = (await authorize(provider, asked)).params;
  const form: Changes = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    code_verifier: VERIFIER,
    ...fields,
  };
  const sent = new URLSearchParams();
  const stands: Record<string, string> = { code, used: code, client: client.clientId, other: otherClient.clientId };
  for (const [name, value] of Object.entries(form)) {
    for (const each of [value ?? []].flat()) sent.append(name, stands[each] ?? each);
  }
  const headers: Record<string, string> = contentType === undefined ? {} : { 'content-type': String(contentType) };
  const wrong = { ...client, clientSecret: `${client.clientSecret}x` };
  const post = (as: typeof client) => {
    sent.append('client_id', as.clientId);
    sent.append('client_secret', as.clientSecret);
  };
  if (auth === 'basic' || auth === 'both') Object.assign(headers, basicAuth(client));
  if (auth === 'wrong basic') Object.assign(headers, basicAuth(wrong));
  if (auth === 'unknown client') Object.assign(headers, basicAuth({ ...client, clientId: 'unknown' }));
  if (auth === 'other client') Object.assign(headers, basicAuth(otherClient));
  if (auth === 'malformed basic') Object.assign(headers, { authorization: 'Basic ???' });
  if (auth === 'post' || auth === 'both') post(client);
  if (auth === 'wrong post') post(wrong);
  const { token_endpoint: endpoint } = await readMetadata(provider);
  const request = () => send(provider, endpoint, { method: 'POST', headers, form: sent });
  if (changes.code === 'used') await request();
  const { status, body } = await request();
  return { status, error: JSON.parse(body).error };
}

/** Returns each change alone, and then pairs of them. */
function generate(table: Readonly<Record<string, readonly Values[]>>, count: number): Changes[] {
  const single = Object.entries(table).flatMap(([name, values]) => values.map((value) => ({ [name]: value })));
  const pairs = single.flatMap((one, at) => single.slice(at + 1).map((two) => ({ ...one, ...two })));
  const real = pairs.filter((pair) => Object.keys(pair).length === 2);
  // A stride without a common factor visits the whole table.
  const missing = Math.max(count - single.length, 0);
  const chosen = Array.from({ length: missing }, (_, at) => real[(at * 7_919 + 13) % real.length] ?? {});
  return [...single, ...chosen].slice(0, count);
}
