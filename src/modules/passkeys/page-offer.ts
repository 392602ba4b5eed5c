/** Signing in with a passkey, as a part of the login page and the account page. */
import type { Config } from '../../config/config.ts';
import { PHISHING_RESISTANT } from '../../domain/core/assurance.ts';
import type { PageOffer } from '../../login-page/page-offer.ts';
import type { PageSetup } from '../module.ts';
import { createAddedPasskeyActions, exportPasskeys, renderPasskeyWays } from './account-passkeys.ts';
import { listOwnPasskeys } from './domain/list-own-passkeys.ts';
import { createPasskeyToken } from './domain/passkey-link.ts';
import { createRelyingParty } from './domain/relying-party.ts';
import { createPasskeyActions } from './passkey-actions.ts';
import { isOfferDue } from './passkey-offer.ts';
import { viewPasskey } from './passkey-view.ts';
import type { PasskeySettings } from './settings.ts';

/** Without `passkey` in LOGIN_METHODS, links in earlier notices still work. */
export function createPasskeyOffer(
  { loginMethods, passkeyRpId }: Pick<Config, 'loginMethods'> & PasskeySettings,
  { accountKeys, authPageUrl, encryptionKeys }: PageSetup,
): PageOffer {
  const relyingParty = createRelyingParty(authPageUrl, passkeyRpId, encryptionKeys);
  const shared: PageOffer = {
    createActions: (account) => [
      ...createPasskeyActions(relyingParty),
      ...(account ? createAddedPasskeyActions(account, accountKeys) : []),
    ],
    accountSection: { exportData: exportPasskeys },
    passkeyHost: passkeyRpId,
    noticeLinks: {
      passkeyAdded: ({ id: passkeyId, userId, changedAt }) =>
        `/passkey?t=${createPasskeyToken(accountKeys, { userId, passkeyId }, changedAt)}`,
    },
  };
  if (!loginMethods.includes('passkey')) return shared;
  return {
    ...shared,
    signInWay: {
      highest: PHISHING_RESISTANT,
      view: (login, request) => request && viewPasskey(request, relyingParty, login),
      findWantedPage: ({ fields }, prompt) => (fields.next || prompt === 'PASSKEYS' ? 'passkeys' : undefined),
      findDueOffer: async (request) => ((await isOfferDue(request, relyingParty)) ? 'passkey/new' : undefined),
    },
    accountSection: {
      exportData: exportPasskeys,
      async show({ call }, view, { id: userId }) {
        return renderPasskeyWays(view, await listOwnPasskeys(call, { userId }, relyingParty));
      },
    },
  };
}
