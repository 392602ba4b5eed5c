/** The page behind the link in the notice of a sign-in in a new place. */
import type { Module } from '../module.ts';
import { createSignInsActions } from './sign-ins-actions.ts';
import { createSignInsToken } from './sign-ins-link.ts';

export const newDeviceModule: Module = {
  name: 'new-device',
  settings: {},
  createPageOffer: (_, { accountKeys }) => ({
    createActions: (account) => (account ? createSignInsActions(account, accountKeys) : []),
    noticeLinks: {
      newDevice: ({ userId, changedAt }) => `/sign-ins?t=${createSignInsToken(accountKeys, userId, changedAt)}`,
    },
  }),
};
