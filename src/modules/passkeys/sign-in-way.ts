/** Signing in with a passkey, as a part of the login page and the account page. */
import type { Config } from '../../config/config.ts';
import { deriveAccountKeys } from '../../domain/account/account-keys.ts';
import type { SignInWay } from '../../login-page/sign-in-way.ts';
import type { SignInSetup } from '../module.ts';
import { createAddedPasskeyActions, exportPasskeys, renderPasskeyWays } from './account-passkeys.ts';
import { listOwnPasskeys } from './domain/list-own-passkeys.ts';
import { createPasskeyToken } from './domain/passkey-link.ts';
import { createRelyingParty } from './domain/relying-party.ts';
import { createPasskeyActions } from './passkey-actions.ts';
import { isOfferDue } from './passkey-offer.ts';
import { viewPasskey } from './passkey-view.ts';
import type { PasskeySettings } from './settings.ts';

/** Without `passkey` in LOGIN_METHODS, links in earlier notices still work. */
export function createPasskeyWay(
  { loginMethods, passkeyRpId }: Pick<Config, 'loginMethods'> & PasskeySettings,
  { authPageUrl, encryptionKeys }: SignInSetup,
): SignInWay {
  const linkKeys = deriveAccountKeys(encryptionKeys);
  const relyingParty = createRelyingParty(authPageUrl, passkeyRpId, encryptionKeys);
  const shared: SignInWay = {
    createActions: (account) => [
      ...createPasskeyActions(relyingParty),
      ...(account ? createAddedPasskeyActions(account, linkKeys) : []),
    ],
    accountSection: { exportData: exportPasskeys },
    view: () => undefined,
    noticeLinks: {
      passkeyAdded: ({ id: passkeyId, userId, changedAt }) =>
        `/passkey?t=${createPasskeyToken(linkKeys, { userId, passkeyId }, changedAt)}`,
    },
  };
  if (!loginMethods.includes('passkey')) return shared;
  return {
    ...shared,
    view: (branding, request) => request && viewPasskey(request, relyingParty, branding),
    findWantedPage: ({ fields }, prompt) => (fields.next || prompt === 'PASSKEYS' ? 'passkeys' : undefined),
    findDueOffer: async (request) => ((await isOfferDue(request, relyingParty)) ? 'passkey/new' : undefined),
    accountSection: {
      exportData: exportPasskeys,
      async show({ call }, view, { id: userId }) {
        return renderPasskeyWays(view, await listOwnPasskeys(call, { userId }, relyingParty));
      },
    },
  };
}
