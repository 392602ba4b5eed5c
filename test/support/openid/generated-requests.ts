/** Requests to the authorization and the token endpoint, each valid but for one or two things. Every run has the same. */
import { createPkce } from './flow.ts';
import { CALLBACK } from './provider.ts';

/** Undefined leaves the parameter out; several values repeat it. */
type Values = string | readonly string[] | undefined;
export type Changes = Readonly<Record<string, Values>>;

const LONG = 'x'.repeat(5_000);
const pkce = createPkce();
export const VERIFIER = pkce.verifier;

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

export const AUTHORIZE_REQUESTS = generate(AUTHORIZE, 100);
export const TOKEN_REQUESTS = generate(TOKEN, 100);

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
