import { loginIntents } from '../../database/schema/intent-schema.ts';
import { nullable, p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../../domain/core/call.ts';

/**
 * Returns whether the passkey of this sign-in opens the console for an operator who must sign in with one. A young one
 * does not: whoever reads the operator's e-mails could have added it.
 */
export async function countsForOperators(
  { run, now }: Call,
  { userId, loginIntentId }: { readonly userId: string; readonly loginIntentId: string },
): Promise<boolean> {
  // Two statements, because the rows may be on different servers.
  const [login] = await run(selectPasskeyOfLogin, { userId, loginIntentId });
  if (!login?.passkeyId) return false;
  const [passkey] = await run(selectOperatorsFrom, { userId, passkeyId: login.passkeyId });
  return passkey !== undefined && (passkey.from === null || passkey.from <= now);
}

const selectPasskeyOfLogin = statement('select_passkey_of_login', { passkeyId: loginIntents.passkeyId })`
  select passkey_id from login_intents where id = ${p.uuid('loginIntentId')} and user_id = ${p.uuid('userId')}`;

const selectOperatorsFrom = statement('select_passkey_for_operators', { from: nullable(t.instant) })`
  select counts_for_operators_from as from from passkeys where user_id = ${p.uuid('userId')} and id = ${p.uuid('passkeyId')}`;
