import { sql } from 'drizzle-orm';
import { BY_POSTGRES, statementInstant } from '../../../database/sql/instants.ts';
import { p, statement, t } from '../../../database/sql/template.ts';
import { notExpired } from '../../../domain/access/has-access.ts';
import { auditEvent } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { acceptInvitation, isInvited } from '../../../domain/login/accept-invitation.ts';
import { answerLogin, type Completion } from '../../../domain/login/complete-login.ts';
import { COMPLETED_INTENT, originAssignments } from '../../../domain/login/completed-intent.ts';
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
 * @throws ServiceError `Sign-in not remembered`; `Access not allowed` if the application is restricted and nobody has let
 * the user in; and as `requireOpenIntent` does
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
  const { applicationId, restrictAccess } = await requireOpenIntent(call, loginIntentId);
  if (token === undefined || settings.singleSignOnMaxAgeSeconds === 0) throw new ServiceError('SIGN_IN_NOT_REMEMBERED');
  const parameters = signInParameters(call.now, settings, { applicationId, loginIntentId, token });
  const values = { ...BY_POSTGRES, ...parameters, ...toSignInOrigin(browser), wantedUserId: userId };
  const [intent] = await call.run(completeRemembered, values);
  if (!intent) {
    await requireOpenIntent(call, loginIntentId);
    if (restrictAccess) await requireAccessOfRemembered(call, values);
    throw new ServiceError('SIGN_IN_NOT_REMEMBERED');
  }
  if (intent.isInvited) await acceptInvitation(call, intent);
  await removeIfErased(call, intent.userId);
  return answerLogin(tokens, { ...intent, loginIntentId });
}

/** @throws ServiceError `Access not allowed` if the sign-in may complete the login, but its user may not enter */
async function requireAccessOfRemembered(call: Call, values: Readonly<Record<string, unknown>>): Promise<void> {
  const [found] = await call.run(selectRefused, values);
  if (found) throw new ServiceError('ACCESS_NOT_ALLOWED', { attempt: { userId: found.userId } });
}

const isWanted = sql`(${p.uuid('wantedUserId')} is null or r.user_id = ${p.uuid('wantedUserId')})`;

/** Two CTEs, because their tables may be on different servers than the intent. */
const allowed = sql`added_here as (
    select x.user_id from remembered join added_users x on x.user_id = remembered.user_id
    where x.application_id = ${p.uuid('applicationId')} and ${notExpired}
  ), granted_here as (
    select m.user_id from remembered join group_members m on m.user_id = remembered.user_id
      join application_groups g on g.group_id = m.group_id
    where g.application_id = ${p.uuid('applicationId')} and g.allows_access
  )`;
const isAllowed = sql`(exists (select 1 from added_here) or exists (select 1 from granted_here))`;

const selectRefused = statement('select_refused_sign_in', { userId: t.uuid })`
  with ${usableSignIn}, ${allowed}
  select r.user_id from remembered r, login_intents i, applications a
  where ${mayContinue} and ${isWanted} and not ${isAllowed}`;

const completeRemembered = statement('complete_remembered_login', {
  ...COMPLETED_INTENT,
  userId: t.uuid,
  method: t.textOf<SignInMethod>(),
})`
  with ${usableSignIn}, ${allowed}, completed as (
    update login_intents i
    set completed_at = ${statementInstant}, authenticated_at = r.authenticated_at, user_id = r.user_id,
      method = r.method, assurance = r.assurance, ${originAssignments}
    from remembered r, applications a
    where ${mayContinue} and ${isWanted} and (not a.restrict_access or ${isAllowed})
    returning i.application_id, i.redirect_uri, i.state, i.prompt, i.response_mode, i.completed_at, i.authenticated_at,
      i.client_id as for_client, i.client_name, i.user_id, i.method, i.assurance, a.client_id, a.single_sign_on,
      ${isInvited(sql`i.user_id`)} as is_invited
  ), ${auditEvent({ resource: sql`user_id`, from: sql`completed`, applicationId: sql`application_id` })}
  select * from completed`;
