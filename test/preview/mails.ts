/** Every kind of e-mail, with example data: for the preview and for the tests of e-mails. */
import { createCodeMail } from '../../src/mail/code-mail.ts';
import { createInvitationMail, createNotice } from '../../src/mail/compose-notice.ts';
import type { Mail } from '../../src/mail/mail.ts';
import type { Language } from '../../src/texts/texts.ts';

export interface MailExample {
  /** In kebab case, for the name of its file. */
  readonly name: string;
  readonly create: (language: Language) => Mail;
}

const HOST = 'login.example.com';
const TO = 'ada@example.com';
const SHOP = { name: 'The Corner Shop', accentColor: '#5b3fd6', supportUri: 'mailto:help@shop.example.com' };

export const MAILS: readonly MailExample[] = [
  {
    name: 'mail-code',
    create: (language) => createCodeMail({ ...codeOf('482913'), language, application: { name: 'Shop' } }),
  },
  {
    name: 'mail-code-branded',
    create: (language) => createCodeMail({ ...codeOf('48291357'), language, application: SHOP }),
  },
  {
    name: 'mail-code-long-name',
    create: (language) =>
      createCodeMail({ ...codeOf('482913'), language, application: { name: 'x'.repeat(255), accentColor: '#ffcc00' } }),
  },
  {
    name: 'mail-invitation',
    create: (language) =>
      createInvitationMail({
        to: TO,
        language,
        application: SHOP,
        initiateLoginUri: 'https://shop.example.com/login',
        expiresAt: new Date('2026-12-23T12:00:00Z'),
        muteUrl: codeOf('').muteUrl,
      }),
  },
  {
    name: 'mail-new-device',
    create: (language) =>
      createNotice('newDevice', {
        to: TO,
        language,
        application: SHOP,
        host: HOST,
        at: new Date('2026-11-23T12:00:00Z'),
        value: '',
        action: { text: ['mail.show'], url: `https://${HOST}/account?row=sign-in-1790000000000` },
        link: { text: ['mail.addressChanged.undo'], url: `https://${HOST}/account/sign-ins?t=${'x'.repeat(32)}` },
      }),
  },
  {
    name: 'mail-client-allowed',
    create: (language) => createNotice('clientAllowed', accessNotice(language, 'Assistant (assistant.example)')),
  },
  {
    name: 'mail-device-allowed',
    create: (language) => createNotice('deviceAllowed', accessNotice(language, 'Shop CLI')),
  },
  {
    name: 'mail-wallet',
    create: (language) =>
      createNotice('walletLinked', {
        to: TO,
        language,
        application: SHOP,
        host: HOST,
        at: new Date('2026-11-23T12:00:00Z'),
        value: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
      }),
  },
  {
    name: 'mail-recovery-started',
    create: (language) =>
      createNotice('recoveryStarted', {
        ...accessNotice(language, ''),
        application: { name: language.text('account.title') },
        duration: language.duration(7, 'day'),
        link: { text: ['account.recovery.submit'], url: `https://${HOST}/account/recovery?t=${'x'.repeat(32)}` },
      }),
  },
  {
    name: 'mail-recovered',
    create: (language) => createNotice('recovered', accessNotice(language, language.text('mail.recovered.passkeys'))),
  },
  {
    name: 'mail-deleted',
    create: (language) =>
      createNotice('accountDeleted', {
        to: TO,
        language,
        application: { name: language.text('account.title') },
        host: HOST,
        at: new Date('2026-11-23T12:00:00Z'),
        value: '',
      }),
  },
];

function accessNotice(language: Language, value: string) {
  return {
    to: TO,
    language,
    application: SHOP,
    host: HOST,
    at: new Date('2026-11-23T12:00:00Z'),
    value,
    link: { text: ['mail.addressChanged.undo'], url: `https://${HOST}/account/sign-ins?t=${'x'.repeat(32)}` },
  } as const;
}

function codeOf(code: string) {
  return { to: TO, code, host: HOST, muteUrl: `https://${HOST}/login/mute?t=${'x'.repeat(32)}` };
}
