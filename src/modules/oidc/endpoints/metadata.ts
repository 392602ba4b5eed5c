/** The metadata of OpenID Connect, and the public keys that verify ID tokens. */
import type { JWK } from 'jose';
import { ACR_VALUES } from '../../../domain/core/assurance.ts';
import { LANGUAGES } from '../../../texts/texts.ts';
import { DEVICE_GRANT } from '../domain/devices/device-codes.ts';

/**
 * Two paths of the same document: OpenID Connect Discovery 1.0, section 4, and RFC 8414, section 3. RFC 8414 appends the
 * path of the issuer, which Discovery puts before them.
 */
const METADATA_PATHS = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'] as const;
export const JWKS_PATH = '/oidc/jwks';
const SECRET_METHODS = ['client_secret_basic', 'client_secret_post'];

interface Offer {
  /** Whether clients need no registration whose ID is the URL of their metadata. */
  readonly takesClientUrls: boolean;
}

/** Returns the metadata of OpenID Connect Discovery 1.0, RFC 8414, RFC 8628 and RP-Initiated Logout 1.0. */
function describeProvider(issuer: string, { takesClientUrls }: Offer): Record<string, unknown> {
  const base = issuer.replace(/\/$/, '');
  return {
    // Unchanged, because clients compare the issuer byte for byte.
    issuer,
    authorization_endpoint: `${base}/oidc/authorize`,
    token_endpoint: `${base}/oidc/token`,
    device_authorization_endpoint: `${base}/oidc/device_authorization`,
    userinfo_endpoint: `${base}/oidc/userinfo`,
    revocation_endpoint: `${base}/oidc/revoke`,
    introspection_endpoint: `${base}/oidc/introspect`,
    jwks_uri: `${base}${JWKS_PATH}`,
    end_session_endpoint: `${base}/oidc/logout`,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials', DEVICE_GRANT],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    // `none` is for public clients.
    token_endpoint_auth_methods_supported: [...SECRET_METHODS, 'none'],
    revocation_endpoint_auth_methods_supported: [...SECRET_METHODS, 'none'],
    introspection_endpoint_auth_methods_supported: SECRET_METHODS,
    code_challenge_methods_supported: ['S256'],
    scopes_supported: ['openid', 'profile', 'email', 'groups', 'offline_access'],
    claims_supported: [
      ...['iss', 'sub', 'aud', 'iat', 'exp', 'auth_time', 'amr', 'acr', 'nonce', 'sid'],
      ...['name', 'preferred_username', 'picture', 'email', 'email_verified', 'groups'],
    ],
    acr_values_supported: ACR_VALUES,
    prompt_values_supported: ['none', 'login', 'select_account', 'consent'],
    ui_locales_supported: [...LANGUAGES.keys()],
    authorization_response_iss_parameter_supported: true,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    ...(takesClientUrls && { client_id_metadata_document_supported: true }),
    claims_parameter_supported: false,
    request_parameter_supported: false,
    // Listed, because the default is true.
    request_uri_parameter_supported: false,
  };
}

/** Returns what writes the documents as JSON, by their paths. */
export function createDocuments(
  issuer: string,
  signingKeys: { readonly publicJwks: { readonly keys: readonly JWK[] } },
  offer: Offer,
): ReadonlyMap<string, () => string> {
  const metadata = JSON.stringify(describeProvider(issuer, offer));
  const ofIssuer = new URL(issuer).pathname.replace(/\/$/, '');
  const paths = METADATA_PATHS.flatMap((path) => [path, path + ofIssuer]);
  return new Map([
    ...paths.map((path) => [path, () => metadata] as const),
    [JWKS_PATH, () => JSON.stringify(signingKeys.publicJwks)],
  ]);
}
