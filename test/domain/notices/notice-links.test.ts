/** What the links in notices hold, and lead to. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { deriveKeys } from '../../../src/domain/crypto/derived-keys.ts';
import { findNoticeRow, readAccountRow } from '../../../src/domain/notices/notice-row.ts';
import { createNoticeToken, readNoticeToken } from '../../../src/domain/notices/notice-token.ts';

const [keys, others] = [1, 2].map(() => deriveKeys([randomBytes(32)], 'notices')) as [
  ReturnType<typeof deriveKeys>,
  ReturnType<typeof deriveKeys>,
];
const AT = new Date('2026-11-30T12:00:00Z');
const later = (ms: number) => new Date(AT.getTime() + ms);
const WEEK = 7 * 24 * 60 * 60_000;

test.each<[string, of: typeof keys, purpose: string, ms: number, isRead: boolean]>([
  ['at once', keys, 'undo', 0, true],
  ['until a week later', keys, 'undo', WEEK - 1, true],
  ['not after a week', keys, 'undo', WEEK, false],
  ['for no other purpose', keys, 'mute', 0, false],
  ['for no other server', others, 'undo', 0, false],
])('the token of a notice works %s', (_, of, purpose, ms, isRead) => {
  const token = createNoticeToken(keys, 'undo', ['user', 'address'], AT);
  const read = isRead ? { facts: ['user', 'address'], at: AT } : undefined;
  expect(readNoticeToken(of, purpose, token, later(ms))).toEqual(read);
});

test.each([
  ['passkeyAdded', 'passkey-a1'],
  ['identityLinked', 'provider-acme'],
  ['newDevice', `sign-in-${AT.getTime()}`],
  ['addressChanged', 'email'],
  ['passkeyRemoved', 'ways'],
  ['clientAllowed', 'clients'],
  ['deviceAllowed', 'where'],
  ['walletLinked', 'wallet'],
  ['accountDeleted', undefined],
  ['invitation', undefined],
] as const)('a notice of %s leads to the row %s', (kind, row) => {
  expect(findNoticeRow({ kind, id: 'a1', value: 'acme', changedAt: AT })).toBe(row);
  if (row) expect(readAccountRow(row)).toBe(row);
});

test.each(['', 'way', 'passkey-', 'passkey-A', 'sign-in-1#', `passkey-${'a'.repeat(41)}`])(
  '%j is no row of the account page',
  (text) => {
    expect(readAccountRow(text)).toBeUndefined();
  },
);
