/** The link in the notice of a recovery, with which the owner of the mailbox stops it. */
import { ServiceError } from '../../domain/core/errors.ts';
import { html } from '../../http/html.ts';
import { readStopToken, stopRecovery } from './domain/stop-recovery.ts';
import { createNoticeLinkActions } from './notice-link.ts';
import type { AccountRequest } from './request.ts';

export const STOP_ACTIONS = createNoticeLinkActions({
  path: 'recovery',
  read: ({ call, own }: AccountRequest, token) => readStopToken(own.keys, token, call.now),
  text: (language) => html`${language.text('account.recovery.text')}`,
  submit: 'account.recovery.submit',
  isDangerous: true,
  async follow({ call }, linkId) {
    if (!(await stopRecovery(call, linkId))) throw new ServiceError('RECOVERY_LINK_NOT_VALID');
  },
  done: ['account.recovery.done', 'account.recovery.done.text'],
  invalid: 'account.recovery.invalid',
});
