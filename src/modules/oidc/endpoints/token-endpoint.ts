/** The token endpoint: RFC 6749, section 3.2. */

import type { Resource } from '../clients/resources.ts';
import { DEVICE_GRANT } from '../domain/devices/device-codes.ts';
import { resourceOfMetadataClient } from '../domain/grants/choose-resource.ts';
import { issueMachineToken } from '../domain/issuing/issue-machine-token.ts';
import {
  type IssuedTokens,
  type RefreshingParts,
  refreshTokens,
  tokensForCode,
  tokensForDevice,
} from '../domain/issuing/issue-tokens.ts';
import { OidcError } from '../domain/oidc-error.ts';
import { readCode } from '../domain/tokens/code.ts';
import { readRefreshToken } from '../domain/tokens/refresh-token.ts';
import { type FormFields, requireField } from './client-credentials.ts';
import { callAtResource, requireDeviceLogin } from './device-endpoint.ts';
import type { OidcEndpoint } from './oidc-edge.ts';
import { type ClientCall, type ClientParts, runAsClient } from './run-as-client.ts';

type TokenParts = ClientParts & RefreshingParts;

export function createTokenEndpoint(parts: TokenParts): OidcEndpoint {
  return {
    method: 'POST',
    path: '/oidc/token',
    run: async (call) => {
      const tokens = await runAsClient(
        parts,
        call,
        (clientCall, form) => grant(clientCall, parts, form),
        (form) => findResource(parts, form),
      );
      return { body: presentTokens(tokens), headers: { pragma: 'no-cache' } };
    },
  };
}

/** A client without an application names the resource beside its code, and its refresh token names it. */
async function findResource({ provider, resources }: TokenParts, form: FormFields): Promise<Resource> {
  if (requireField(form, 'grant_type') !== 'refresh_token') {
    return resourceOfMetadataClient(resources, form.get('resource'));
  }
  const token = readRefreshToken(provider.tokenKeys.refreshToken, requireField(form, 'refresh_token'));
  const resource = token && (await resources.findById(token.applicationId));
  if (!resource?.allowMetadataClients) throw new OidcError('invalid_grant');
  const named = form.get('resource');
  if (named !== undefined && (await resources.findByUri(named))?.id !== resource.id) {
    throw new OidcError('invalid_target');
  }
  return resource;
}

async function grant(call: ClientCall, parts: TokenParts, form: FormFields): Promise<IssuedTokens> {
  const type = requireField(form, 'grant_type');
  const { tokenKeys } = parts.provider;
  if (type === 'authorization_code') {
    const code = requireField(form, 'code');
    const codeVerifier = call.isPublic ? requireField(form, 'code_verifier') : form.get('code_verifier');
    // Clients of OAuth 2.1 send none: PKCE does what it does.
    const redirectUri = codeVerifier === undefined ? requireField(form, 'redirect_uri') : form.get('redirect_uri');
    const resourceId = readCode(tokenKeys.code, code)?.resourceId;
    const uri = form.get('resource');
    // People could add a resource to the link of a client that does not ask for one, and would sign in by its rules.
    if (resourceId !== undefined && uri === undefined)
      throw new OidcError('invalid_target', { description: 'resource is missing' });
    const atResource = await callAtResource(call, parts, { uri, id: resourceId });
    return tokensForCode(atResource, parts, { code, redirectUri, codeVerifier });
  }
  if (type === 'refresh_token') {
    const refreshToken = requireField(form, 'refresh_token');
    const token = readRefreshToken(tokenKeys.refreshToken, refreshToken);
    const id = token?.isForClient ? token.applicationId : undefined;
    const atResource = await callAtResource(call, parts, { uri: form.get('resource'), id });
    return refreshTokens(atResource, parts, { refreshToken, scope: form.get('scope') });
  }
  if (type === DEVICE_GRANT) {
    // The application is the resource then, whose devices are not those of the client.
    if (call.forClient !== null) throw new OidcError('unauthorized_client');
    requireDeviceLogin(call);
    const atResource = await callAtResource(call, parts, { uri: form.get('resource'), id: undefined });
    return tokensForDevice(atResource, parts, requireField(form, 'device_code'));
  }
  if (type === 'client_credentials') {
    return issueMachineToken(call, parts, { resource: form.get('resource'), scope: form.get('scope') });
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
    // RFC 6749, appendix A.4: a scope has a name at least. A resource without scopes has none to give to a machine.
    scope: scope || undefined,
  };
}
