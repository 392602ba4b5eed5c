/** The endpoints of OpenID Connect at which clients get tokens, use them, and ask about them. */

import type { Logger } from 'pino';
import type { LiveSessions } from '../../../domain/sessions/live-sessions.ts';
import type { AuthTokens } from '../../../domain/tokens/auth-tokens.ts';
import type { NetworkLimit } from '../../../login-page/browser/network-limit.ts';
import type { LiveGrants } from '../domain/grants/live-grants.ts';
import type { MachineKeys } from '../domain/machines/machine-keys.ts';
import type { OidcProvider } from '../domain/tokens/provider.ts';
import { createDeviceEndpoint } from './device-endpoint.ts';
import type { OidcEndpoint } from './oidc-edge.ts';
import type { ClientParts } from './run-as-client.ts';
import { createTokenEndpoint } from './token-endpoint.ts';
import { createTokenStatusEndpoints } from './token-status-endpoints.ts';
import { createUserinfoEndpoints } from './userinfo-endpoints.ts';

interface EndpointParts extends ClientParts {
  readonly liveGrants: LiveGrants;
  readonly liveSessions: LiveSessions;
  readonly clock: () => Date;
  readonly logger: Logger;
  readonly machineKeys: MachineKeys;
  readonly logins: NetworkLimit;
  readonly sessionMaxAgeSeconds: number;
  readonly tokens: AuthTokens;
}

export function createOidcEndpoints(provider: OidcProvider, given: EndpointParts): readonly OidcEndpoint[] {
  const { tokens, ...parts } = given;
  const { issuer } = tokens;
  const forgetUser = (userId: string) => parts.liveSessions.forgetUser(userId);
  const all = { ...parts, forgetUser, issuer, provider, subscribed: new Set<string>(), tokenKeys: provider.tokenKeys };
  const ofTokens = [createTokenEndpoint(all), createDeviceEndpoint(all)];
  return [...ofTokens, ...createUserinfoEndpoints(all), ...createTokenStatusEndpoints(all)];
}
