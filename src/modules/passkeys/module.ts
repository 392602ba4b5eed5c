/** Passkeys: signing in with a touch. */
import type { Config } from '../../config/config.ts';
import { createPasskeyDemand, type OperatorSettings } from '../../config/operators.ts';
import { hasTable } from '../../database/migrate/journal.ts';
import { allowsMethod } from '../../domain/applications/branding.ts';
import { ONE_FACTOR, PHISHING_RESISTANT } from '../../domain/core/assurance.ts';
import { html } from '../../http/html.ts';
import type { LoginContext } from '../../login-page/offer/login-context.ts';
import type { PageOffer } from '../../login-page/offer/page-offer.ts';
import type { AskedSignIn } from '../../login-page/offer/sign-in-ways.ts';
import type { WayView } from '../../login-page/pages/view.ts';
import { type CheckContext, type CheckFinding, fail, pass } from '../check.ts';
import type { Early, Module } from '../module.ts';
import { createAddedPasskeyActions, exportPasskeys, renderPasskeyWays } from './account.ts';
import { createPasskeyActions, isOfferDue } from './actions.ts';
import { createChallenge } from './domain/challenge.ts';
import { listOwnPasskeys } from './domain/list-own-passkeys.ts';
import { createPasskeyToken } from './domain/passkey-link.ts';
import { createRelyingParty, type RelyingParty } from './domain/relying-party.ts';
import {
  PASSKEY_OFFER_SCRIPT,
  PASSKEY_SIGN_IN_SCRIPT,
  renderManagePasskeys,
  renderPasskeyForm,
} from './pages/passkey-form.ts';
import type { PasskeyView } from './pages/view.ts';
import { ofPasskeys, type PasskeySettings } from './settings.ts';

export const passkeysModule: Module<Config & OperatorSettings & PasskeySettings> = {
  ...ofPasskeys,
  name: 'passkeys',
  offer: (config, early) => ({ pages: createPasskeyOffer(config, early) }),
  checks: [{ check: 'passkeys', settings: ['PASSKEY_RP_ID', 'PUBLIC_URL'], run: checkPasskeys }],
};

/** A passkey works at the host for which it was made. */
async function checkPasskeys({
  config,
  publicUrl,
  read,
}: CheckContext<Pick<Config, 'authPageUrl' | 'databaseSchema' | 'loginMethods'> & PasskeySettings>): Promise<
  readonly CheckFinding[]
> {
  if (config.authPageUrl !== undefined) return [];
  if (!config.loginMethods.includes('passkey')) return [pass('nobody can sign in with one')];
  const host = config.passkeyRpId ?? new URL(publicUrl).hostname;
  const stored = await read?.(async (sql) =>
    (await hasTable(sql, config.databaseSchema, 'passkeys')) ? sql`select distinct rp_id as host from passkeys` : [],
  );
  const other = stored?.find((each) => each.host !== host);
  if (!other) return [pass(`they belong to ${host}`)];
  return [fail(`some belong to ${other.host}, and not to ${host}`, 'Their users cannot sign in with them')];
}

/** Without `passkey` in LOGIN_METHODS, links in earlier notices still work. */
function createPasskeyOffer(
  config: Pick<Config, 'loginMethods'> & OperatorSettings & PasskeySettings,
  { accountKeys, authPageUrl, secrets }: Early,
): PageOffer {
  const { loginMethods, passkeyRpId } = config;
  const relyingParty = createRelyingParty(authPageUrl, passkeyRpId, secrets.encryptionKeys);
  const shared: PageOffer = {
    createActions: (account) => [
      ...createPasskeyActions({ relyingParty, demandsPasskey: createPasskeyDemand(config) }),
      ...(account ? createAddedPasskeyActions(account, accountKeys) : []),
    ],
    accountSection: { exportData: exportPasskeys },
    noticeLinks: {
      passkeyAdded: ({ id: passkeyId, userId, changedAt }) =>
        `/passkey?t=${createPasskeyToken(accountKeys, { userId, passkeyId, at: changedAt })}`,
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

const PROBLEMS: ReadonlyMap<string, PasskeyView['problem']> = new Map([
  ['INVALID_PASSKEY', 'invalid'],
  ['UNKNOWN_PASSKEY', 'unknown'],
] as const);

/** Returns the request for a passkey, or undefined if people cannot sign in to the application with one. */
function viewPasskey(
  { call, browser, fields }: Pick<LoginContext, 'call' | 'browser' | 'fields'>,
  { keys, rpId }: RelyingParty,
  { loginMethods, requiredAssurance }: AskedSignIn,
): WayView | undefined {
  if (!allowsMethod({ loginMethods }, 'passkey')) return undefined;
  const { loginIntentId, problem } = fields;
  const challenge = createChallenge(keys, { purpose: 'passkey get', loginIntentId, browser }, call.now);
  const needsVerification = requiredAssurance > ONE_FACTOR;
  return toWayView({ challenge, rpId, needsVerification, problem: PROBLEMS.get(problem) });
}

export function toWayView(passkey: PasskeyView): WayView {
  return {
    isPasskey: true,
    renderForms: (view) => renderPasskeyForm(view, passkey),
    renderLinks: renderManagePasskeys,
    scripts: [PASSKEY_SIGN_IN_SCRIPT],
    // The script fills it in if this device can save a passkey.
    hidden: html`<input type="hidden" name="passkey">`,
    formScripts: [PASSKEY_OFFER_SCRIPT],
    emailAutocomplete: 'username webauthn',
  };
}
