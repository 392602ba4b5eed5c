/** The page behind the link in the notice of a sign-in in a new place, and of an access that somebody has given. */
import type { NoticeLinks } from '../../domain/notices/notice-links.ts';
import type { Module } from '../module.ts';
import { createSignInsActions } from './sign-ins-actions.ts';
import { createSignInsToken } from './sign-ins-link.ts';

export const newDeviceModule: Module = {
  name: 'new-device',
  settings: {},
  createPageOffer(_, { accountKeys }) {
    const linkOf: NoticeLinks[keyof NoticeLinks] = ({ userId, changedAt }) =>
      `/sign-ins?t=${createSignInsToken(accountKeys, userId, changedAt)}`;
    return {
      createActions: (account) => (account ? createSignInsActions(account, accountKeys) : []),
      noticeLinks: { clientAllowed: linkOf, deviceAllowed: linkOf, newDevice: linkOf },
    };
  },
};
