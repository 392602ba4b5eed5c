/** Logout tokens: OpenID Connect Back-Channel Logout 1.0, section 2.4. */
import { randomUUID } from 'node:crypto';
import type { OidcSigningKeys } from '../domain/oidc/signing-keys.ts';
import type { LogoutData } from '../domain/webhooks/logout-message.ts';

const LIFETIME_SECONDS = 120;
const EVENT = 'http://schemas.openid.net/event/backchannel-logout';

export interface LogoutTokens {
  /** Returns a token for the payload of a message, another for each attempt. */
  sign(payload: string, now: Date): Promise<string>;
}

/** The issuer is read with each token: it may depend on the port, which is not known yet. */
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
