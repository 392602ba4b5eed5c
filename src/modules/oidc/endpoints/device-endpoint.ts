/** The endpoint at which a device begins a login (RFC 8628, section 3.1), also for a resource (RFC 8707, section 2). */

import { levelOfAcrValues } from '../../../domain/core/assurance.ts';
import type { ApplicationCall } from '../../../domain/core/call.ts';
import type { NetworkLimit } from '../../../login-page/network-limit.ts';
import { beginDeviceLogin, DEVICE_LOGIN_SECONDS, POLL_SECONDS } from '../domain/devices/begin-device-login.ts';
import { chooseScope } from '../domain/grants/narrow-scope.ts';
import { OidcError } from '../domain/oidc-error.ts';
import type { TokenKeys } from '../domain/tokens/token-keys.ts';
import { callAtResource } from './call-at-resource.ts';
import type { OidcEndpoint } from './oidc-edge.ts';
import { type ClientParts, runAsClient } from './run-as-client.ts';

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
