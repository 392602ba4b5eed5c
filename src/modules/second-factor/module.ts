/** The second factor: authenticator apps, recovery codes, and the second step of a sign-in. On wherever Usher has pages. */
import type { Config } from '../../config/config.ts';
import { RowCipher } from '../../domain/crypto/aes-gcm.ts';
import { deriveKeys } from '../../domain/crypto/derived-keys.ts';
import type { PageOffer } from '../../login-page/offer/page-offer.ts';
import type { Early, Module } from '../module.ts';
import { createAccountFactorActions, createFactorSection } from './account.ts';
import { createSecondStepActions } from './actions.ts';
import { createAddedFactorToken } from './domain/added-factor-link.ts';

export const secondFactorModule: Module<Config> = {
  name: 'second-factor',
  settings: {},
  offer: (_, early) => ({ pages: createSecondFactorOffer(early) }),
};

function createSecondFactorOffer({ accountKeys, secrets: { encryptionKeys } }: Early): PageOffer {
  const own = {
    cipher: new RowCipher(encryptionKeys),
    keys: deriveKeys(encryptionKeys, 'unconfirmed second factor'),
  };
  return {
    createActions: (account) => [
      ...createSecondStepActions(own),
      ...(account ? createAccountFactorActions(account, accountKeys) : []),
    ],
    accountSection: createFactorSection(),
    noticeLinks: {
      secondFactorAdded: ({ id, userId, changedAt }) =>
        `/second-factor/added?t=${createAddedFactorToken(accountKeys, { userId, id, at: changedAt })}`,
    },
  };
}
