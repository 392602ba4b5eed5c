/** Logout tokens: OpenID Connect Back-Channel Logout 1.0, section 2.4. */
import { randomUUID } from 'node:crypto';
import type { LogoutTokens } from '../../delivery/send-delivery.ts';
import type { LogoutData } from '../../domain/outbox/logout-message.ts';
import type { OidcSigningKeys } from './domain/tokens/signing-keys.ts';

const LIFETIME_SECONDS = 120;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

/** `readIssuer` is called for each token, because the issuer may depend on a port that is not bound yet. */
export function createLogoutTokens(readIssuer: () => string, keys: OidcSigningKeys): LogoutTokens {
  return {
    sign(payload, now) {
      const { data }: { data: LogoutData } = JSON.parse(payload);
      const issuedAt = Math.floor(now.getTime() / 1_000);
      const times = { iat: issuedAt, exp: issuedAt + LIFETIME_SECONDS };
      return keys.sign(
        { iss: readIssuer(), ...data, ...times, jti: randomUUID(), events: { [EVENT]: {} } },
        'logout+jwt',
      );
    },
  };
}
