import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import type { AuthTokens } from '../../domain/login/auth-tokens.ts';
import { createAuthPageLink, generateAuthUrl } from '../../domain/login/generate-auth-url.ts';
import { exchangeToken, type Session } from '../../domain/sessions/exchange-token.ts';
import { applicationCallOf } from '../call.ts';
import type { Handlers } from '../procedures.ts';

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
