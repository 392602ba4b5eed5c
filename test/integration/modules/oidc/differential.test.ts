/**
 * The same 200 requests to Usher and to a certified provider: where the answer goes, its status and its error code. What
 * differs is listed with its reason.
 */
import { afterAll, describe, expect, test } from 'vitest';
import { createPkce, createRequest } from '../../../support/openid/flow.ts';
import {
  AUTHORIZE_REQUESTS,
  type Changes,
  TOKEN_REQUESTS,
  VERIFIER,
} from '../../../support/openid/generated-requests.ts';
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
