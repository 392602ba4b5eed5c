/** Every page that people see, with example data: for the preview and for the tests of pages. */

import { alertFor } from '../../src/login-page/pages/alerts.ts';
import { renderChoice, renderLink } from '../../src/login-page/pages/choice.ts';
import { renderCode, renderName } from '../../src/login-page/pages/code.ts';
import type { PageContent } from '../../src/login-page/pages/document.ts';
import {
  ERROR_PAGES,
  type ErrorPage,
  renderClosed,
  renderError,
  renderRefused,
} from '../../src/login-page/pages/error.ts';
import { renderMute } from '../../src/login-page/pages/mute.ts';
import type { PageApplication } from '../../src/login-page/pages/page-application.ts';
import type { FormView } from '../../src/login-page/pages/view.ts';
import { renderLogOut } from '../../src/modules/oidc/pages/log-out.ts';
import { toWayView } from '../../src/modules/passkeys/module.ts';
import { renderPasskeyList, renderPasskeyOffer } from '../../src/modules/passkeys/pages/passkey-list.ts';
import type { PasskeysView } from '../../src/modules/passkeys/pages/view.ts';
import { type ProviderView, renderProviderForms } from '../../src/modules/providers/pages/provider-buttons.ts';
import { renderContinue } from '../../src/modules/remembered-sign-ins/pages/continue.ts';
import { WALLET_VIEW } from '../../src/modules/wallets/module.ts';
import type { Language } from '../../src/texts/texts.ts';
import { ACCOUNT_SCREENS, RECOVER_SCREENS } from './account-screens.ts';
import { BAKERY, SHOP } from './brands.ts';
import { CONSENT_SCREENS } from './consent-screens.ts';
import { DEVICE_SCREENS } from './device-screens.ts';
import { SECOND_FACTOR_SCREENS } from './second-factor-screens.ts';

export interface Screen {
  /** In kebab case, for the name of its file. */
  readonly name: string;
  readonly render: (language: Language) => PageContent;
}

export const SCREENS: readonly Screen[] = [
  { name: 'choice', render: (language) => renderChoice(formView(language)) },
  { name: 'choice-sign-up', render: (language) => renderChoice(formView(language, { allowSignUp: true, email: '' })) },
  {
    name: 'choice-domains',
    render: (language) =>
      renderChoice(
        formView(language, {
          allowSignUp: true,
          email: '',
          signUpEmailDomains: ['example.com', 'xn--bcher-kva.example'],
        }),
      ),
  },
  {
    name: 'choice-alert',
    render: (language) => renderChoice(formView(language, { alert: language.text('alert.unknownWallet') })),
  },
  { name: 'code', render: (language) => renderCode(formView(language)) },
  {
    name: 'code-wrong',
    render: (language) =>
      renderCode(
        formView(language, {
          alert: language.text('alert.wrongCode.left', { count: 3 }),
          figures: { digits: 8, left: 3, wait: 0 },
        }),
      ),
  },
  {
    name: 'code-hint',
    render: (language) => renderCode(formView(language, { allowSignUp: true, email: 'ada.lovelace@gmial.com' })),
  },
  { name: 'continue', render: (language) => renderContinue({ ...formView(language), ...SIGN_IN }) },
  { name: 'closed', render: (language) => renderClosed(formView(language)) },
  { name: 'refused', render: (language) => renderRefused(formView(language)) },
  { name: 'link', render: (language) => renderLink(formView(language, { link: '1' })) },
  {
    name: 'choice-providers',
    render: (language) =>
      renderChoice(
        formView(language, { ways: [{ renderForms: (view) => renderProviderForms(view, PROVIDERS) }, WALLET_VIEW] }),
      ),
  },
  {
    name: 'link-provider',
    render: (language) => renderLink(formView(language, { link: 'google', linkedProvider: 'Google' })),
  },
  { name: 'name', render: (language) => renderName(formView(language)) },
  { name: 'mute', render: (language) => renderMute({ ...muteView(language), until: null }) },
  { name: 'mute-done', render: (language) => renderMute({ ...muteView(language), until: new Date(24 * HOUR_MS) }) },
  { name: 'mute-invalid', render: (language) => renderMute({ ...muteView(language), until: undefined }) },
  {
    name: 'log-out',
    render: (language) => renderLogOut({ ...pageView(language), application: SHOP, query: [], formToken: 'token' }),
  },
  {
    name: 'not-signed-out',
    render: (language) => renderError('not-signed-out', { ...pageView(language), application: SHOP }),
  },
  {
    name: 'redirect-mismatch',
    render: (language) => renderError('unknown-redirect', pageView(language)),
  },
  { name: 'shop-choice', render: (language) => renderAt(SHOP, renderChoice, language, { email: '' }) },
  { name: 'shop-code', render: (language) => renderAt(SHOP, renderCode, language) },
  { name: 'shop-name', render: (language) => renderAt(SHOP, renderName, language) },
  {
    name: 'shop-error',
    render: (language) => renderError('expired', { ...pageView(language), application: SHOP }),
  },
  {
    name: 'bakery-choice',
    render: (language) => renderAt(BAKERY, renderChoice, language, { methods: ['email'], ways: [] }),
  },
  {
    name: 'bakery-unavailable',
    render: (language) => renderError('unavailable', { ...pageView(language), application: BAKERY }),
  },
  {
    name: 'choice-passkey',
    render: (language) =>
      renderChoice(
        formView(language, { methods: ['email', 'wallet', 'passkey'], ways: [toWayView(PASSKEY), WALLET_VIEW] }),
      ),
  },
  {
    name: 'choice-assurance',
    render: (language) =>
      renderChoice(
        formView(language, {
          methods: [],
          ways: [toWayView(PASSKEY)],
          demand: 'assurance.text',
          accountPath: '/account',
          alert: language.text('alert.assuranceNotMet'),
        }),
      ),
  },
  {
    name: 'choice-factors',
    render: (language) =>
      renderChoice(
        formView(language, {
          methods: [],
          ways: [toWayView(PASSKEY), { renderForms: (view) => renderProviderForms(view, ASKED_AGAIN) }],
          demand: 'assurance.factors',
          accountPath: '/account',
          alert: alertFor('PROVIDER_ONE_FACTOR', language, {}, 'Example Corporation'),
        }),
      ),
  },
  {
    name: 'choice-two-factors',
    render: (language) =>
      renderChoice(
        formView(language, { methods: ['email'], ways: [toWayView(PASSKEY)], demand: 'assurance.two', email: '' }),
      ),
  },
  {
    name: 'choice-unmet',
    render: (language) => renderChoice(formView(language, { methods: [], ways: [], demand: 'assurance.unmet' })),
  },
  {
    name: 'passkey-offer',
    render: (language) => renderPasskeyOffer(passkeysView(language, { passkeys: [], mayAddApp: true })),
  },
  { name: 'passkey-list', render: (language) => renderPasskeyList(passkeysView(language)) },
  {
    name: 'passkey-list-empty',
    render: (language) => renderPasskeyList(passkeysView(language, { passkeys: [], mayAddApp: true })),
  },
  ...(Object.keys(ERROR_PAGES) as ErrorPage[]).map((kind) => ({
    name: `error-${kind}`,
    render: (language: Language) => renderError(kind, pageView(language)),
  })),
  ...ACCOUNT_SCREENS,
  ...RECOVER_SCREENS,
  ...SECOND_FACTOR_SCREENS,
  ...DEVICE_SCREENS,
  ...CONSENT_SCREENS,
];

/** Renders the page of an application with a branding, where people may sign up. */
function renderAt(
  application: PageApplication,
  render: (view: FormView) => PageContent,
  language: Language,
  changes: Partial<FormView> = {},
): PageContent {
  const { name: applicationName, site } = application;
  const redirectUri = `${site?.origin}/callback`;
  const view = { application, applicationName, redirectUri, allowSignUp: true, ...changes };
  return { ...render(formView(language, view)), application };
}

const PROVIDERS: readonly ProviderView[] = [
  { id: 'google', name: 'Google', mark: 'google' },
  { id: 'microsoft', name: 'Microsoft', mark: 'microsoft' },
  { id: 'github', name: 'GitHub', mark: 'github' },
  { id: 'corp', name: 'Example Corporation', mark: 'other' },
];

const ASKED_AGAIN = PROVIDERS.slice(-1).map((provider) => ({ ...provider, isAskedAgain: true }));

const SIGN_IN = {
  signIn: {
    email: 'ada.lovelace@mathematics.example.com',
    name: 'Ada Lovelace',
    authenticatedAt: new Date('2026-03-01T10:00:00Z'),
  },
  now: new Date('2026-03-01T12:00:00Z'),
};

function pageView(language: Language) {
  return { language, place: { path: '/login', query: [['intent', INTENT]] } } as const;
}

export function formView(language: Language, changes: Partial<FormView> = {}): FormView {
  return {
    ...pageView(language),
    application: {
      name: 'The Corner Shop',
      accentColor: null,
      termsUri: null,
      privacyUri: null,
      supportUri: 'https://shop.example.com/help',
      initiateLoginUri: null,
      logo: undefined,
      darkLogo: undefined,
      site: { origin: 'https://shop.example.com', host: 'shop.example.com' },
    },
    chosenLanguage: '',
    applicationName: 'The Corner Shop',
    allowSignUp: false,
    signUpEmailDomains: [],
    methods: ['email', 'wallet'],
    email: 'ada.lovelace@mathematics.example.com',
    alert: '',
    figures: { digits: 6, left: 0, wait: 30 },
    loginIntentId: INTENT,
    clientId: 'client_6f8d2c1a9b3e4f708192a3b4c5d6e7f8',
    path: '/login',
    once: '',
    formToken: 'token',
    link: '',
    linkedProvider: '',
    ways: [WALLET_VIEW],
    ...changes,
  };
}

function muteView(language: Language) {
  const place = { path: '/login/mute', query: [['t', 'x'.repeat(32)]] } as const;
  return { language, place, path: place.path, linkToken: 'x'.repeat(32), formToken: 'token', now: new Date(0) };
}

const HOUR_MS = 60 * 60_000;
function passkeysView(language: Language, changes: Partial<PasskeysView> = {}): PasskeysView {
  const shared = { credentialId: Buffer.alloc(16), rpId: 'example.com', transports: [], isUserVerified: true };
  const ring = { ...shared, id: INTENT, aaguid: INTENT, name: 'Key on the ring', createdAt: new Date('2026-01-09') };
  return {
    ...formView(language),
    host: 'login.example.com',
    mayAddApp: false,
    passkeys: [
      {
        ...ring,
        ...{ id: `${INTENT}1`, name: 'Apple Passwords', createdAt: new Date('2026-03-03') },
        ...{ isBackupEligible: true, isBackedUp: true, countsFrom: null, lastUsedAt: new Date('2026-11-22') },
      },
      { ...ring, isBackupEligible: false, isBackedUp: false, countsFrom: new Date('2026-01-16'), lastUsedAt: null },
    ],
    options: {
      challenge: 'AAAA',
      rp: { id: 'example.com', name: 'login.example.com' },
      user: { id: 'AAAA', name: 'ada@example.com', displayName: 'Ada' },
      pubKeyCredParams: [],
      excludeCredentials: [],
      authenticatorSelection: {},
      attestation: 'none',
    },
    ...changes,
  };
}

const PASSKEY = { challenge: 'AAAA', rpId: 'login.example.com', problem: undefined };
const INTENT = '0198f0f0-0000-7000-8000-000000000000';
