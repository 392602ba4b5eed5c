import { expect, it } from 'vitest';
import { suggestAddress } from '../../src/login-page/pages/code.ts';

it.each([
  ['ada@gmial.com', 'ada@gmail.com'],
  ['ada@gmal.com', 'ada@gmail.com'],
  ['ada@gmaill.com', 'ada@gmail.com'],
  ['ada@gnail.com', 'ada@gmail.com'],
  ['ada@gmail.con', 'ada@gmail.com'],
  ['ada@gmail.co', 'ada@gmail.com'],
  ['ada@gmail.ocm', 'ada@gmail.com'],
  ['ada@gmailcom', 'ada@gmail.com'],
  ['Ada.Lovelace+shop@HOTMIAL.com', 'Ada.Lovelace+shop@hotmail.com'],
  ['ada@yaho.com', 'ada@yahoo.com'],
  ['ada@outlok.com', 'ada@outlook.com'],
  ['ada@iclud.com', 'ada@icloud.com'],
  ['ada@wbe.de', 'ada@web.de'],
  ['ada@gxm.net', 'ada@gmx.net'],
])('asks whether %s is %s', (email, suggested) => {
  expect(suggestAddress(email)).toBe(suggested);
});

it.each([
  'ada@gmail.com',
  'ada@GMAIL.com',
  'ada@mail.com',
  'ada@gmx.de',
  'ada@gmx.net',
  'ada@gmx.ch',
  'ada@example.com',
  'ada@usher.test',
  // Both gmail.com and mail.com are one edit away.
  'ada@ymail.com',
  'ada@email.com',
  'ada@gm.com',
  'ada@gmail.com.evil.test',
  'ada@xgmailx.com',
  'ada@',
  '@gmial.com',
  'gmial.com',
  '',
  '@'.repeat(10_000),
  `ada@${'g'.repeat(100_000)}`,
])('suggests nothing for %.60s', (email) => {
  expect(suggestAddress(email)).toBeUndefined();
});
