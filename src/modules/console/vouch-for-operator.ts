import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../../domain/core/call.ts';

/** Makes passkeys that the user adds after this login count in full, because a printed link proves who it is. */
export async function vouchForOperator(
  { run }: Call,
  login: { readonly loginIntentId: string; readonly userId: string },
): Promise<void> {
  await run(storeVoucher, login);
}

const storeVoucher = statement('vouch_for_operator')`
  update login_intents set vouched_user_id = ${p.uuid('userId')} where id = ${p.uuid('loginIntentId')}`;
