import { p, statement, t } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../domain/core/own-applications.ts';
import type { AuthTokens } from '../../../domain/tokens/auth-tokens.ts';
import { IMPERSONATION } from '../../../domain/tokens/verify-token.ts';
import { ACCOUNT_CLIENT_ID } from './account-application.ts';
import type { AccountSignIn } from './find-account.ts';

/**
 * Redeems the auth token of a login at the account page, once. So nobody can open the page with an address that a
 * browser has visited.
 *
 * @throws ServiceError `Invalid or expired token`, also for one that was redeemed before
 */
export async function openAccount(call: Call, tokens: AuthTokens, authToken: string): Promise<AccountSignIn> {
  const signIn = tokens.verify(authToken, ACCOUNT_CLIENT_ID, call.now);
  const { loginIntentId, userId } = signIn;
  const parameters = { applicationId: ACCOUNT_APPLICATION_ID, loginIntentId, userId, now: call.now };
  const [redeemed] = await call.run(redeemToken, parameters);
  if (!redeemed) throw new ServiceError('INVALID_TOKEN');
  const isContinued = redeemed.isContinued || signIn.method === IMPERSONATION;
  return { ...signIn, openedAt: call.now, isContinued };
}

const redeemToken = statement('redeem_account_token', { isContinued: t.boolean })`
  with redeemed as (
    update login_intents set redeemed_at = ${p.instant('now')}
    where id = ${p.uuid('loginIntentId')} and application_id = ${p.uuid('applicationId')}
      and user_id = ${p.uuid('userId')} and redeemed_at is null
    returning authenticated_at is not null as is_continued
  )
  select is_continued from redeemed`;
