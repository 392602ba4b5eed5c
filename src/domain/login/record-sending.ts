import { loginCodes } from '../../database/login-schema.ts';
import { p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import type { CodeRow } from './create-login-code.ts';

/**
 * Records whether an e-mail with the code was sent. One that failed does not count, and the page of the code says so until
 * another is sent.
 */
export async function recordSending({ run }: Pick<Call, 'run'>, row: CodeRow, isSent: boolean): Promise<void> {
  const { applicationId, loginIntentId, id, isUnsent } = row;
  // Most e-mails are sent at once, and need no statement.
  if (!isSent || isUnsent) await run(updateSending, { applicationId, loginIntentId, id, isSent });
}

const updateSending = statement('update_login_code_sending', { id: loginCodes.id })`
  update login_codes
  set is_unsent = not ${p.boolean('isSent')},
    sends = case when ${p.boolean('isSent')} then sends else greatest(sends - 1, 0) end
  where application_id = ${p.uuid('applicationId')} and login_intent_id = ${p.uuid('loginIntentId')}
    and id = ${p.uuid('id')}
  returning id`;
