import type { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { createAuthPageLink, generateAuthUrl } from '../../domain/login/generate-auth-url.ts';
import { shownSignInTime } from '../../domain/login/sign-in-age.ts';
import { exchangeToken } from '../../domain/sessions/exchange-token.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import type { ServiceParts } from '../service-parts.ts';
import { toMessage, toProfile } from './to-message.ts';

export function createAuthHandlers({
  authPageUrl,
  sessionMaxAgeSeconds,
  tokens,
}: Pick<ServiceParts, 'authPageUrl' | 'sessionMaxAgeSeconds' | 'tokens'>): ApplicationHandlers<typeof AuthService> {
  const linkTo = createAuthPageLink(authPageUrl);
  const exchange = { tokens, sessionMaxAgeSeconds, subscribed: new Set<string>() };
  return {
    generateAuthUrl: (call, fields) => generateAuthUrl(call, linkTo, fields),
    async exchangeToken(call, fields, peer) {
      const session = await exchangeToken(call, exchange, peer, fields);
      const authTime = shownSignInTime(session.method, session.authTime);
      const user = { ...toProfile(session), id: session.userId };
      return { user, session: toMessage({ ...session, authTime }) };
    },
  };
}
