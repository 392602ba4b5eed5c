import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import type { AuthTokens } from '../core/auth/auth-tokens.ts';
import { exchangeToken, type Session } from '../core/auth/exchange-token.ts';
import { createAuthPageLink, generateAuthUrl } from '../core/auth/generate-auth-url.ts';
import { applicationCallOf } from './call.ts';
import type { Handlers } from './procedures.ts';

export function createAuthHandlers(tokens: AuthTokens, authPageUrl: string): Handlers<typeof AuthService> {
  const linkTo = createAuthPageLink(authPageUrl);
  return {
    async generateAuthUrl(request, call) {
      return generateAuthUrl(applicationCallOf(call), linkTo, request);
    },

    async exchangeToken(request, call) {
      return toExchangeTokenResponse(await exchangeToken(applicationCallOf(call), tokens, call.peer, request));
    },
  };
}

function toExchangeTokenResponse({ id, createdAt, email, name, profileImage, walletAddress }: Session) {
  return {
    user: { email, walletAddress, ...(name !== null && { name }), ...(profileImage !== null && { profileImage }) },
    session: { id, createdAt: timestampFromDate(createdAt) },
  };
}
