import { sql } from 'drizzle-orm';
import { ATTEMPT_PREFIX, auditEvents, isAttempt } from '../../database/schema/audit-schema.ts';
import { nullable, p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { invalidField } from '../core/errors.ts';
import { check, emailAddress, optional, type Unchecked, uuid } from '../core/validation.ts';
import { createList, type Page, type PageTokens, type pageRules, selectPage } from '../pages/list.ts';
import { findUndeletedUser } from '../users/find-user-by-email.ts';

const { id, applicationId, occurredAt, requestId, method, userAgent, network } = auditEvents;

const columns = {
  ...{ id, applicationId, occurredAt, requestId, method, userAgent, network },
  reason: t.text,
  userId: nullable(t.text),
  count: t.integer,
};

export type SignInAttempt = RowOfType<typeof columns>;

const rows = {
  columns,
  select: sql`id, application_id, occurred_at, request_id, method, user_agent, network,
    substr(action, ${sql.raw(String(ATTEMPT_PREFIX.length + 1))}) as reason, nullif(resource, '') as user_id,
    attempts as count`,
  order: [occurredAt, id],
} as const;

const ofUser = sql`resource = ${p.uuid('userId')}::text`;

const selectOfUser = selectPage('select_attempts_of_user', { ...rows, where: sql`${isAttempt} and ${ofUser}` });
const selectOfApplication = selectPage('select_attempts_at_application', {
  ...rows,
  where: sql`${isAttempt} and application_id = ${p.uuid('applicationId')}`,
});
// A user has few attempts, and an application many: the expression keeps Postgres from the index by application.
const selectOfUserAtApplication = selectPage('select_attempts_of_user_at_application', {
  ...rows,
  where: sql`${isAttempt} and ${ofUser} and application_id::text = ${p.uuid('applicationId')}::text`,
});

const rules = { userId: optional(uuid), email: optional(emailAddress), applicationId: optional(uuid) };

const listAttempts = createList('select_sign_in_attempts', {
  ...rows,
  name: 'sign-in-attempts',
  rules,
  where: isAttempt,
  find: ({ userId, applicationId: at }) => {
    if (userId === null) return at === null ? undefined : selectOfApplication;
    return at === null ? selectOfUser : selectOfUserAtApplication;
  },
});

/** No user has this ID. */
const NOBODY = '00000000-0000-0000-0000-000000000000';

/**
 * Returns a page of the sign-ins that failed or were refused: all, those of a user, or those at an application. An
 * address that nobody has stands for a user without any.
 */
export async function listSignInAttempts(
  call: Call,
  tokens: PageTokens,
  request: Unchecked<keyof typeof rules | keyof typeof pageRules>,
): Promise<Page<SignInAttempt>> {
  const { email } = check({ email: request.email }, { email: rules.email });
  if (email === null) return listAttempts(call, tokens, request);
  if (request.userId !== undefined) throw invalidField('email', 'must not be given together with userId');
  const user = await findUndeletedUser(call, email);
  return listAttempts(call, tokens, { ...request, userId: user?.id ?? NOBODY });
}

/** The attempts of a user, for the user. */
export const selectOwnAttempts = statement('select_account_attempts', {
  ...{ occurredAt, applicationId, method, userAgent, network },
  reason: t.text,
})`
  select occurred_at, application_id, method, user_agent, network, reason from (
    select ${rows.select} from audit_events where ${isAttempt} and ${ofUser} order by occurred_at desc, id desc limit 1000
  ) as attempts`;
