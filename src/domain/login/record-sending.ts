import { loginCodes } from '../../database/schema/login-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import type { CodeRow } from './create-login-code.ts';

/**
 * Records whether an e-mail with the code was sent. A failed e-mail does not count towards the limit, and the page of
 * the code reports the failure until another e-mail is sent.
 */
export async function recordSending({ run }: Pick<Call, 'run'>, row: CodeRow, isSent: boolean): Promise<void> {
  const { applicationId, loginIntentId, id, isUnsent } = row;
  // `sends` was counted beforehand, so a sent e-mail needs a statement only after a failed one.
  if (!isSent || isUnsent) await run(updateSending, { applicationId, loginIntentId, id, isSent });
}

const updateSending = statement('update_login_code_sending', { id: loginCodes.id })`
  update login_codes
  set is_unsent = not ${p.boolean('isSent')},
    sends = case when ${p.boolean('isSent')} then sends else greatest(sends - 1, 0) end
  where application_id = ${p.uuid('applicationId')} and login_intent_id = ${p.uuid('loginIntentId')}
    and id = ${p.uuid('id')}
  returning id`;
