/** The token endpoint: RFC 6749, section 3.2. */
import {
  type IssuedTokens,
  type RefreshingParts,
  refreshTokens,
  tokensForCode,
  tokensForDevice,
} from '../domain/issue-tokens.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { DEVICE_GRANT, requireDeviceLogin } from './device-endpoint.ts';
import type { OidcEndpoint } from './oidc-edge.ts';
import { type FormFields, requireField } from './read-form.ts';
import { type ClientCall, type ClientParts, runAsClient } from './run-as-client.ts';

export function createTokenEndpoint(parts: ClientParts & RefreshingParts): OidcEndpoint {
  return {
    method: 'POST',
    path: '/oidc/token',
    run: async (call) => {
      const tokens = await runAsClient(parts, call, (clientCall, form) => grant(clientCall, parts, form));
      return { body: presentTokens(tokens), headers: { pragma: 'no-cache' } };
    },
  };
}

async function grant(call: ClientCall, parts: RefreshingParts, form: FormFields): Promise<IssuedTokens> {
  const type = requireField(form, 'grant_type');
  if (type === 'authorization_code') {
    const code = requireField(form, 'code');
    const redirectUri = requireField(form, 'redirect_uri');
    const codeVerifier = call.isPublic ? requireField(form, 'code_verifier') : form.get('code_verifier');
    return tokensForCode(call, parts, { code, redirectUri, codeVerifier });
  }
  if (type === 'refresh_token') {
    return refreshTokens(call, parts, { refreshToken: requireField(form, 'refresh_token'), scope: form.get('scope') });
  }
  if (type === DEVICE_GRANT) {
    requireDeviceLogin(call);
    return tokensForDevice(call, parts, requireField(form, 'device_code'));
  }
  throw new OidcError('unsupported_grant_type');
}

/** RFC 6749, section 5.1, and OpenID Connect Core 1.0, section 3.1.3.3. */
function presentTokens({ accessToken, expiresInSeconds, idToken, refreshToken, scope }: IssuedTokens) {
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
    id_token: idToken,
    refresh_token: refreshToken,
    scope,
  };
}
