import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { composeNotice } from '../../../src/mail/compose-notice.ts';
import { toPlainText } from '../../../src/mail/mail-text.ts';

const NOTICE = {
  applicationId: randomUUID(),
  applicationName: null,
  accentColor: null,
  supportUri: null,
  initiateLoginUri: null,
  id: randomUUID(),
  kind: 'addressChanged',
  userId: randomUUID(),
  recipient: 'ada@example.com',
  value: 'eve@example.com',
  language: 'en',
  changedAt: new Date('2026-11-27T10:00:00Z'),
} as const;

const PARTS = {
  authPageUrl: 'https://login.example.com/login',
  clock: () => NOTICE.changedAt,
  codeKeys: [],
  hasAccountPage: true,
  hasMutePage: true,
  noticeLinks: {},
  providers: { nameOf: () => '' },
};

test('the notice of a changed address has the link that its part makes, below the account page', () => {
  const addressChanged = ({ recipient, value }: { recipient: string; value: string }) =>
    `/undo?from=${recipient}&to=${value}` as const;
  const text = toPlainText(composeNotice(NOTICE, { ...PARTS, noticeLinks: { addressChanged } }));
  expect(text).toContain('https://login.example.com/account/undo?from=ada@example.com&to=eve@example.com');
  expect(text).toContain('Then bring the old address back. Possible for: 7 days.');
});

test('without a part that makes the link, the notice says whom to write to, and promises no way back', () => {
  const text = toPlainText(composeNotice(NOTICE, { ...PARTS, hasAccountPage: false }));
  expect(text).toContain('eve@example.com');
  expect(text).toContain('Not you? Write to');
  expect(text).not.toMatch(/bring the old address back|https:/);
});
