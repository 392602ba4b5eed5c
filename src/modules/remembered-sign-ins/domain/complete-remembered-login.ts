import { sql } from 'drizzle-orm';
import { BY_POSTGRES, statementInstant } from '../../../database/instants.ts';
import { p, statement, t } from '../../../database/template.ts';
import { auditEvent } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { acceptInvitation, isInvited } from '../../../domain/login/accept-invitation.ts';
import {
  answerLogin,
  COMPLETED_INTENT,
  type Completion,
  originAssignments,
} from '../../../domain/login/complete-login.ts';
import { requireOpenIntent } from '../../../domain/login/login-intent.ts';
import { type Browser, toSignInOrigin } from '../../../domain/sessions/browser.ts';
import type { AuthTokens } from '../../../domain/tokens/auth-tokens.ts';
import type { SignInMethod } from '../../../domain/tokens/verify-token.ts';
import { removeIfErased } from '../../../domain/users/personal-data.ts';
import { mayContinue, type SharingSettings, signInParameters, usableSignIn } from './usable-sign-in.ts';

const rules = { loginIntentId: uuid };

/**
 * Completes the login by the remembered sign-in of this browser. The application learns the instant of that sign-in,
 * from which revocations and maximum ages count. With `userId`, the sign-in must be that user's.
 *
 * @throws ServiceError `Sign-in not remembered`, and as `requireOpenIntent` does
 */
export async function completeRememberedLogin(
  call: Call,
  { tokens, ...settings }: SharingSettings & { readonly tokens: AuthTokens },
  browser: Browser,
  token: string | undefined,
  request: Unchecked<keyof typeof rules>,
  { userId = null }: { readonly userId?: string | null } = {},
): Promise<Completion> {
  const { loginIntentId } = check(request, rules);
  const { applicationId } = await requireOpenIntent(call, loginIntentId);
  if (token === undefined || settings.singleSignOnMaxAgeSeconds === 0) throw new ServiceError('SIGN_IN_NOT_REMEMBERED');
  const parameters = signInParameters(call.now, settings, { applicationId, loginIntentId, token });
  const values = { ...BY_POSTGRES, ...parameters, ...toSignInOrigin(browser), wantedUserId: userId };
  const [intent] = await call.run(completeRemembered, values);
  if (!intent) {
    await requireOpenIntent(call, loginIntentId);
    throw new ServiceError('SIGN_IN_NOT_REMEMBERED');
  }
  if (intent.isInvited) await acceptInvitation(call, intent);
  await removeIfErased(call, intent.userId);
  return answerLogin(tokens, { ...intent, loginIntentId });
}

const completeRemembered = statement('complete_remembered_login', {
  ...COMPLETED_INTENT,
  userId: t.uuid,
  method: t.textOf<SignInMethod>(),
})`
  with ${usableSignIn}, completed as (
    update login_intents i
    set completed_at = ${statementInstant}, authenticated_at = r.authenticated_at, user_id = r.user_id,
      method = r.method, assurance = 1, ${originAssignments}
    from remembered r, applications a
    where ${mayContinue} and (${p.uuid('wantedUserId')} is null or r.user_id = ${p.uuid('wantedUserId')})
    returning i.application_id, i.redirect_uri, i.state, i.prompt, i.response_mode, i.completed_at, i.authenticated_at,
      i.user_id, i.method, a.client_id, a.single_sign_on, ${isInvited(sql`i.user_id`)} as is_invited
  ), ${auditEvent({ resource: sql`user_id`, from: sql`completed`, applicationId: sql`application_id` })}
  select * from completed`;
