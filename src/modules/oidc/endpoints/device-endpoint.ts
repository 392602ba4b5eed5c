/** The endpoint at which a device begins a login (RFC 8628, section 3.1), also for a resource (RFC 8707, section 2). */
import { levelOfAcrValues, ONE_FACTOR } from '../../../domain/core/assurance.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import type { NetworkLimit } from '../../../login-page/browser/network-limit.ts';
import { beginDeviceLogin, DEVICE_LOGIN_SECONDS, POLL_SECONDS } from '../domain/devices/begin-device-login.ts';
import { resourceOfRegistered } from '../domain/grants/choose-resource.ts';
import { chooseScope } from '../domain/grants/narrow-scope.ts';
import { OidcError } from '../domain/oidc-error.ts';
import type { TokenKeys } from '../domain/tokens/token-keys.ts';
import type { OidcEndpoint } from './oidc-edge.ts';
import { type ClientCall, type ClientParts, runAsClient } from './run-as-client.ts';

interface DeviceParts extends ClientParts {
  readonly issuer: string;
  readonly logins: NetworkLimit;
  readonly tokenKeys: TokenKeys;
}

export function createDeviceEndpoint(parts: DeviceParts): OidcEndpoint {
  const verificationUri = `${parts.issuer.replace(/\/$/, '')}/device`;
  return {
    method: 'POST',
    path: '/oidc/device_authorization',
    run: async (oidcCall) => {
      const { deviceCode, userCode } = await runAsClient(parts, oidcCall, async (call, form) => {
        requireDeviceLogin(call);
        const address = oidcCall.context.clientAddress;
        // Anybody can call as a public client.
        if (call.isPublic && !parts.logins.take(address, call.now))
          throw new OidcError('temporarily_unavailable', { status: 429, headers: { 'retry-after': '60' } });
        const atResource = await callAtResource(call, parts, { uri: form.get('resource'), id: undefined });
        return beginDeviceLogin(atResource, parts.tokenKeys, {
          address,
          ...chooseScope(form.get('scope'), atResource.resourceScopes),
          requiredAssurance: levelOfAcrValues(form.get('acr_values')),
        });
      });
      return {
        body: {
          device_code: deviceCode,
          user_code: userCode,
          verification_uri: verificationUri,
          verification_uri_complete: `${verificationUri}?user_code=${userCode}`,
          expires_in: DEVICE_LOGIN_SECONDS,
          interval: POLL_SECONDS,
        },
      };
    },
  };
}

/** @throws OidcError `unauthorized_client` */
export function requireDeviceLogin({ application }: ApplicationCall): void {
  if (!application.deviceLogin)
    throw new OidcError('unauthorized_client', { description: 'The application has no device_login' });
}

/**
 * Returns the call of a registered client as one for the tokens of another application, if it asks for those.
 *
 * @throws OidcError `invalid_target` unless the resource lists the client
 */
export async function callAtResource(
  call: ClientCall,
  { resources }: Pick<ClientParts, 'resources'>,
  named: { readonly uri: string | undefined; readonly id: string | undefined },
): Promise<ClientCall> {
  const { clientId } = call;
  if (call.forClient !== null) return call;
  const resource = await resourceOfRegistered(resources, named, clientId);
  if (!resource) return call;
  const { application: client } = call;
  const { resourceScopes, ...application } = resource;
  const requiredAssurance = Math.max(resource.requiredAssurance, client.requiredAssurance ?? ONE_FACTOR);
  return { ...call, application: { ...application, requiredAssurance }, client, forClient: clientId, resourceScopes };
}
