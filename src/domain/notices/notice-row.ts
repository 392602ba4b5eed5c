/** The places of the account page that notices speak of. Each is the ID of a row or panel, and the fragment of the URL. */
import type { DueNotice } from './due-notices.ts';
import type { NoticeKind } from './store-notice.ts';

export type AccountRow = (typeof FIXED)[number] | `${'passkey' | 'provider' | 'sign-in'}-${string}`;

const FIXED = ['clients', 'email', 'wallet', 'ways', 'where'] as const;

export const toPasskeyRow = (passkeyId: string): AccountRow => `passkey-${passkeyId}`;
export const toProviderRow = (providerId: string): AccountRow => `provider-${providerId}`;
export const toSignInRow = (authenticatedAt: Date): AccountRow => `sign-in-${authenticatedAt.getTime()}`;

/** Returns the text if it names such a place: it becomes the fragment of a redirect. */
export function readAccountRow(text: string): AccountRow | undefined {
  const fixed = FIXED.find((row) => row === text);
  return fixed ?? (/^(?:passkey|provider|sign-in)-[a-z0-9-]{1,40}$/.test(text) ? (text as AccountRow) : undefined);
}

type NoticeFacts = Pick<DueNotice, 'id' | 'value' | 'changedAt'>;

const ROWS: Readonly<Partial<Record<NoticeKind, AccountRow | ((notice: NoticeFacts) => AccountRow)>>> = {
  addressChanged: 'email',
  addressReplaced: 'email',
  clientAllowed: 'clients',
  deviceAllowed: 'where',
  identityLinked: ({ value }) => toProviderRow(value),
  identityRemoved: 'ways',
  newDevice: ({ changedAt }) => toSignInRow(changedAt),
  passkeyAdded: ({ id }) => toPasskeyRow(id),
  passkeyRemoved: 'ways',
  recovered: 'ways',
  recoveryCodeUsed: 'ways',
  recoveredFormer: 'ways',
  secondFactorAdded: 'ways',
  secondFactorFailed: 'ways',
  secondFactorRemoved: 'ways',
  walletLinked: 'wallet',
  walletRemoved: 'ways',
};

/** Returns undefined for notices of what the account page does not show. */
export function findNoticeRow({ kind, ...notice }: NoticeFacts & Pick<DueNotice, 'kind'>): AccountRow | undefined {
  const row = ROWS[kind];
  return typeof row === 'function' ? row(notice) : row;
}
