import type { SecondFactor } from '../../src/domain/second-factor/find-second-factor.ts';
import { renderAccount } from '../../src/modules/account/pages/account.ts';
import { renderAccountForm, renderAccountMessage, renderAccountSignIn } from '../../src/modules/account/pages/form.ts';
import {
  renderAddressCode,
  renderConfirm,
  renderDeadLink,
  renderDigits,
  renderEarlyLink,
  renderLinkForm,
  renderNewAddress,
  renderRecovered,
} from '../../src/modules/account/pages/recover.ts';
import { renderPasskeyWays } from '../../src/modules/passkeys/account.ts';
import { renderIdentities } from '../../src/modules/providers/pages/render-identities.ts';
import { renderSignIns } from '../../src/modules/remembered-sign-ins/account.ts';
import { renderOwnFactor } from '../../src/modules/second-factor/account.ts';
import { renderOwnWallet } from '../../src/modules/wallets/account.ts';
import { renderNewWallet } from '../../src/modules/wallets/pages/wallet-form.ts';
import type { Language } from '../../src/texts/texts.ts';
import type { Screen } from './screens.ts';

const PROVIDER = { type: 'openid', clientId: '', clientSecret: '', trustEmail: false, emailDomains: [] } as const;
const PROVIDERS = [
  { ...PROVIDER, id: 'google', name: 'Google', issuer: 'https://accounts.google.com' },
  { ...PROVIDER, id: 'microsoft', name: 'Microsoft', issuer: 'https://login.microsoftonline.com/common/v2.0' },
];

const USER = {
  id: '0198f0f0-0000-4000-8000-000000000001',
  email: 'ada.lovelace@mathematics.example.com',
  name: 'Ada Lovelace',
  profileImage: null,
  walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
  externalId: null,
  attributes: null,
  createdAt: new Date('2026-01-09T00:00:00Z'),
  deactivatedAt: null,
};

const SESSIONS = [
  {
    applicationId: USER.id,
    applicationName: 'The Corner Shop',
    method: 'passkey',
    ipAddress: '203.0.113.7',
    userAgent:
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15',
    browserDigest: Buffer.alloc(32, 1),
    beganAt: new Date('2026-11-19T18:02:00Z'),
    authenticatedAt: new Date('2026-11-19T18:02:00Z'),
  },
  {
    applicationId: USER.id,
    applicationName: 'Box office',
    method: 'email',
    ipAddress: '2001:db8::1',
    userAgent: 'node',
    browserDigest: null,
    beganAt: new Date('2026-11-02T07:40:00Z'),
    authenticatedAt: new Date('2026-11-02T07:40:00Z'),
  },
] as const;

const SIGN_INS = [
  {
    tokenDigest: Buffer.alloc(32, 1),
    browserDigest: Buffer.alloc(32, 1),
    ipAddress: '203.0.113.7',
    userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/26.0 Safari/605.1.15',
    method: 'passkey',
    authenticatedAt: new Date('2026-11-19T18:02:00Z'),
    expiresAt: new Date('2026-11-20T06:02:00Z'),
  },
  {
    tokenDigest: Buffer.alloc(32, 2),
    browserDigest: null,
    ipAddress: null,
    userAgent: null,
    method: 'email',
    authenticatedAt: new Date('2026-11-19T17:02:00Z'),
    expiresAt: new Date('2026-11-20T05:02:00Z'),
  },
] as const;

const APPLICATION = {
  initiateLoginUri: 'https://shop.example.com/login',
  isRestricted: false,
  lastSignedInAt: null,
  hasSignedIn: true,
  addedAt: null,
  groupId: null,
  groupName: null,
};

const THIS_DEVICE = Buffer.alloc(32, 1);

const PASSKEY = {
  id: USER.id,
  credentialId: Buffer.alloc(16),
  rpId: 'login.example.com',
  aaguid: '00000000-0000-0000-0000-000000000000',
  transports: ['internal'],
  isBackupEligible: true,
  isBackedUp: true,
  isUserVerified: true,
  name: 'Apple Passwords',
  createdAt: new Date('2026-03-03T00:00:00Z'),
  countsFrom: null,
  lastUsedAt: new Date('2026-11-22T00:00:00Z'),
};

const PASSKEYS = [PASSKEY, { ...PASSKEY, name: 'Key on the ring', isBackedUp: false, lastUsedAt: null }];

/** The pages of the account. */
export const ACCOUNT_SCREENS: readonly Screen[] = [
  { name: 'account', render: (language) => renderAccount(accountView(language)) },
  {
    name: 'account-stale',
    render: (language) =>
      renderAccount({
        ...accountView(language),
        isFresh: false,
        note: '',
        sessions: [],
        sections: waysOf(language, FACTOR),
        mayDelete: false,
      }),
  },
  {
    name: 'account-no-app',
    render: (language) => renderAccount({ ...accountView(language), sections: waysOf(language, undefined) }),
  },
  {
    name: 'account-young-app',
    render: (language) => renderAccount({ ...accountView(language), sections: waysOf(language, YOUNG_FACTOR) }),
  },
  { name: 'account-sign-in', render: (language) => renderAccountSignIn(accountView(language)) },
  {
    name: 'account-wallet',
    render: (language) =>
      renderAccountForm(accountView(language), {
        action: 'wallet',
        title: 'account.wallet.title',
        submit: 'account.wallet.submit',
        isDangerous: true,
      }),
  },
  {
    name: 'account-wallet-new',
    render: (language) => renderNewWallet(accountView(language), { isRecent: true }),
  },
  {
    name: 'account-wallet-new-stale',
    render: (language) => renderNewWallet(accountView(language), { isRecent: false }),
  },
  {
    name: 'account-deleted',
    render: (language) => renderAccountMessage(accountView(language), 'account.deleted', 'account.deleted.text'),
  },
];

const LOSSES = {
  isNew: false,
  name: USER.name,
  newEmail: 'ada@example.org',
  email: USER.email,
  passkeys: PASSKEYS.map(({ name }) => name),
  providers: ['Acme'],
  walletAddress: USER.walletAddress,
};

/** The pages of a recovery link. */
export const RECOVER_SCREENS: readonly Screen[] = [
  { name: 'recover-link', render: (language) => renderLinkForm(recoverView(language)) },
  { name: 'recover-digits', render: (language) => renderDigits(recoverView(language)) },
  {
    name: 'recover-digits-wrong',
    render: (language) =>
      renderDigits({ ...recoverView(language), alert: language.text('recover.digits.wrong', { count: 4 }) }),
  },
  { name: 'recover-dead', render: (language) => renderDeadLink(recoverView(language)) },
  {
    name: 'recover-early',
    render: (language) => renderEarlyLink(recoverView(language), new Date('2026-11-30T11:30:00Z')),
  },
  { name: 'recover-address', render: (language) => renderNewAddress(recoverView(language)) },
  { name: 'recover-address-code', render: (language) => renderAddressCode(recoverView(language), LOSSES.newEmail) },
  { name: 'recover-confirm', render: (language) => renderConfirm(recoverView(language), LOSSES, 'once') },
  {
    name: 'recover-confirm-first',
    render: (language) =>
      renderConfirm(
        recoverView(language),
        {
          ...LOSSES,
          isNew: true,
          name: null,
          newEmail: null,
          email: null,
          passkeys: [],
          providers: [],
          walletAddress: null,
        },
        'once',
      ),
  },
  { name: 'recover-done', render: (language) => renderRecovered(recoverView(language)) },
];

function recoverView(language: Language) {
  return {
    ...viewAccountForm(language),
    place: { path: '/recover', query: [] },
    recoverPath: '/recover',
    entered: { link: 'Vb3n0ZqT7xK2mL9sWc4Yd8RfH1pUaJ6gEoNiXtQyBvM' },
  };
}

const IDENTITIES = [
  {
    issuer: 'https://accounts.google.com',
    subject: '1',
    provider: 'google',
    createdAt: new Date('2026-03-01T10:00:00Z'),
    countsFrom: new Date('2026-03-08T10:00:00Z'),
  },
];

const NAMES = { nameOf: (id: string) => PROVIDERS.find((provider) => provider.id === id)?.name ?? '' };

/** What every page below the account page shows. */
export function viewAccountForm(language: Language) {
  return {
    language,
    place: { path: '/account', query: [] },
    path: '/account',
    host: 'login.example.com',
    formToken: 'token',
    alert: '',
  };
}

const FACTOR = {
  createdAt: new Date('2026-10-02T00:00:00Z'),
  lastUsedAt: new Date('2026-11-19T00:00:00Z'),
  countsFrom: null,
  recoveryCodesLeft: 7,
};

const YOUNG_FACTOR = { ...FACTOR, lastUsedAt: null, countsFrom: new Date('2026-11-26T00:00:00Z') };

/** What other parts show. */
function waysOf(language: Language, factor: SecondFactor | undefined) {
  const view = viewAccountForm(language);
  return [
    renderPasskeyWays(view, PASSKEYS),
    renderOwnFactor(view, factor, new Date('2026-11-20T00:00:00Z')),
    renderOwnWallet(view, USER, { hasEmail: true }),
    renderIdentities(view, { identities: IDENTITIES, providers: PROVIDERS, hasEmail: true }),
  ];
}

export function accountView(language: Language) {
  const view = viewAccountForm(language);
  return {
    ...view,
    user: USER,
    groups: ['Editors', 'night-shift'],
    applications: [
      { ...APPLICATION, id: '1', name: 'Box office', initiateLoginUri: 'https://tickets.example.com/login' },
      { ...APPLICATION, id: USER.id, name: 'Shop', lastSignedInAt: new Date('2026-11-19T18:02:00Z') },
    ],
    sessions: SESSIONS,
    sections: [
      ...waysOf(language, FACTOR),
      renderSignIns(view, { signIns: SIGN_INS, tokenDigest: THIS_DEVICE, providers: NAMES }),
    ],
    browserDigest: THIS_DEVICE,
    providers: NAMES,
    note: language.text('account.note.name'),
    isFresh: true,
    mayDelete: true,
    hasEmail: true,
  };
}
