import { expect, test } from 'vitest';
import { createNotice } from '../../../src/mail/compose-notice.ts';
import { toPlainText } from '../../../src/mail/mail-text.ts';
import { ENGLISH } from '../../../src/texts/texts.ts';

const noticeOf = (supportUri: string | null) =>
  toPlainText(
    createNotice('walletLinked', {
      to: 'ada@example.com',
      language: ENGLISH,
      application: { name: 'Shop', supportUri },
      host: 'login.example.com',
      at: new Date('2026-11-23T12:00:00Z'),
      value: '0xabc',
    }),
  );

test.each([
  ['mailto:help@shop.test', 'help@shop.test'],
  ['https://shop.test/help', 'https://shop.test/help'],
  [null, 'Shop'],
])('the notice of a wallet says what was linked, when, and with %s where to write', (supportUri, support) => {
  expect(noticeOf(supportUri)).toBe(`A wallet was linked to your account

The wallet 0xabc was linked to your account at login.example.com on November 23, 2026.

Not you? Write to ${support}.
`);
});
