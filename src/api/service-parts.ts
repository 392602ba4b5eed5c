import type { ApiKeys } from '../domain/api-keys/api-keys.ts';
import type { RowCipher } from '../domain/crypto/aes-gcm.ts';
import type { IntrospectToken } from '../domain/grants/token-status.ts';
import type { ProviderNames } from '../domain/identities/provider-names.ts';
import type { LoginCodeKeys } from '../domain/login/login-code.ts';
import type { PageTokens } from '../domain/pages/list.ts';
import type { RecoveryParts } from '../domain/recovery/create-recovery-link.ts';
import type { Revocations } from '../domain/sessions/list-revocations.ts';
import type { LiveSessions } from '../domain/sessions/live-sessions.ts';
import type { AuthTokens } from '../domain/tokens/auth-tokens.ts';
import type { AddressPolicy } from '../domain/webhooks/address-policy.ts';
import type { HealthMonitor } from './operations/health.ts';

/** What the handlers of services need. */
export interface ServiceParts extends Omit<RecoveryParts, 'codeKeys'> {
  readonly apiKeys: ApiKeys;
  readonly authPageUrl: string;
  readonly cipher: RowCipher;
  /** They digest e-mail addresses that are invited, and spoken codes. */
  readonly codeKeys: LoginCodeKeys;
  readonly health: HealthMonitor;
  readonly introspectToken: IntrospectToken;
  readonly liveSessions: LiveSessions;
  readonly pageTokens: PageTokens;
  /** The host to which passkeys belong: an import takes no others. */
  readonly passkeyHost: string;
  readonly policy: AddressPolicy;
  readonly revocations: Revocations;
  readonly webhooksPerApplication: number;
  readonly providers: ProviderNames;
  /** How long sessions can be renewed after the sign-in, unless the application has its own limit. */
  readonly sessionMaxAgeSeconds: number;
  readonly tokens: AuthTokens;
}
