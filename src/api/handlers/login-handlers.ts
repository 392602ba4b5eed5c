import type { AdminService } from '../../../gen/usher/v1/admin_pb.ts';
import type { AuthTokens } from '../../domain/login/auth-tokens.ts';
import { cancelLogin } from '../../domain/login/cancel-login.ts';
import { completeLogin } from '../../domain/login/complete-login.ts';
import { getLoginIntent } from '../../domain/login/get-login-intent.ts';
import type { OpenHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

/** What a login page of the operator's own calls. */
export function createLoginHandlers(tokens: AuthTokens) {
  return {
    async getLoginIntent(fields, call) {
      const { id, applicationId, applicationName, status, expiresAt } = await getLoginIntent(call, fields);
      return {
        loginIntent: toMessage({ loginIntentId: id, applicationId, applicationName, state: status, expiresAt }),
      };
    },

    async completeLogin(fields, call) {
      return completeLogin(call, tokens, fields);
    },

    async cancelLogin(fields, call) {
      return cancelLogin(call, tokens.issuer, fields);
    },
  } satisfies Partial<OpenHandlers<typeof AdminService>>;
}
