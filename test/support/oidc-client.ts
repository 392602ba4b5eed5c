/** A client of the token endpoint, with codes of logins that began as OpenID Connect begins them. */
import { hash, randomBytes } from 'node:crypto';
import { readScope } from '../../src/domain/grants/scope.ts';
import { createCode } from '../../src/modules/oidc/domain/tokens/code.ts';
import { deriveTokenKeys } from '../../src/modules/oidc/domain/tokens/token-keys.ts';
import { request } from './http.ts';
import {
  adminClient,
  createLoginIntent,
  createTenant,
  REDIRECT_URI,
  type Tenant,
  type TestService,
} from './service.ts';

type OfService = Pick<TestService, 'url' | 'database' | 'config'>;

export interface TokenReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The fields of the body, or of an error. */
  readonly body: Readonly<Record<string, string>>;
}

/** Creates an application that may use OpenID Connect. */
export async function createOidcTenant(
  service: { url: string },
  fields: { publicClient?: boolean; redirectUris?: string[] } = {},
): Promise<Tenant> {
  const { redirectUris = [REDIRECT_URI], ...flags } = fields;
  const tenant = await createTenant(service, { redirectUris });
  await adminClient(service).updateApplication({ applicationId: tenant.id, openIdConnect: true, ...flags });
  return tenant;
}

export interface CodeOptions {
  readonly scope?: string;
  readonly nonce?: string | null;
  readonly verifier?: string;
  readonly redirectUri?: string;
  /** What the cookie of the browser holds. */
  readonly browser?: string;
  readonly onBehalfBy?: string;
}

export const createVerifier = () => randomBytes(32).toString('base64url');

/** Signs the user in, and returns the code that the application gets. */
export async function signInForCode(
  service: OfService,
  tenant: Tenant,
  user: { id: string },
  { scope = 'openid', nonce = null, verifier, redirectUri = REDIRECT_URI, browser, onBehalfBy }: CodeOptions = {},
): Promise<string> {
  const loginIntentId = await createLoginIntent(service, tenant, { redirectUri });
  const challenge = verifier === undefined ? null : hash('sha256', verifier, 'buffer');
  await service.database.sql`
    update usher.login_intents set response_mode = 'query', scope = ${readScope(scope)}, nonce = ${nonce},
      code_challenge = ${challenge} where id = ${loginIntentId}`;
  await adminClient(service).completeLogin({ loginIntentId, userId: user.id, ...(onBehalfBy && { onBehalfBy }) });
  if (browser) {
    const digest = hash('sha256', browser, 'buffer');
    await service.database.sql`update usher.login_intents set browser_digest = ${digest} where id = ${loginIntentId}`;
  }
  return createCode(deriveTokenKeys(service.config.secrets.encryptionKeys ?? []).code, loginIntentId);
}

export function basicOf({ clientId, apiKey }: Pick<Tenant, 'clientId' | 'apiKey'>): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${clientId}:${apiKey}`).toString('base64')}` };
}

/** Posts a form to an endpoint. */
export async function post(
  service: { url: string },
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<TokenReply> {
  return read(
    await request(service.url, {
      path,
      body: new URLSearchParams(fields).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    }),
  );
}

export async function getUserinfo(service: { url: string }, accessToken: string | undefined): Promise<TokenReply> {
  const headers = { authorization: `Bearer ${accessToken}` };
  return read(await request(service.url, { path: '/oidc/userinfo', headers }));
}

function read({ status, headers, body }: Awaited<ReturnType<typeof request>>): TokenReply {
  return { status, headers, body: body === '' ? {} : JSON.parse(body) };
}

/** Exchanges a code of a confidential client, or of a public one if it has a verifier alone. */
export function redeem(
  service: { url: string },
  tenant: Tenant,
  code: string,
  {
    verifier,
    resource,
    isPublic = false,
  }: { verifier?: string; resource?: string | undefined; isPublic?: boolean } = {},
): Promise<TokenReply> {
  const fields = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
    ...(verifier !== undefined && { code_verifier: verifier }),
    ...(resource !== undefined && { resource }),
  };
  return isPublic
    ? post(service, '/oidc/token', { ...fields, client_id: tenant.clientId })
    : post(service, '/oidc/token', fields, basicOf(tenant));
}

export function refresh(
  service: { url: string },
  tenant: Tenant,
  refreshToken: string | undefined,
  { scope, isPublic = false }: { scope?: string; isPublic?: boolean } = {},
): Promise<TokenReply> {
  const fields = {
    grant_type: 'refresh_token',
    refresh_token: refreshToken ?? '',
    ...(scope !== undefined && { scope }),
  };
  return isPublic
    ? post(service, '/oidc/token', { ...fields, client_id: tenant.clientId })
    : post(service, '/oidc/token', fields, basicOf(tenant));
}
