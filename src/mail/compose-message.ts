import type { SendMailOptions } from 'nodemailer';
import { canonicalizeEmail } from '../config/email-address.ts';
import { toHtmlText } from './html-text.ts';
import type { Mail } from './mail.ts';
import { toLine, toPlainText, withoutControls } from './plain-text.ts';
import { supportAddressOf } from './support.ts';

/** Returns the e-mail as options of nodemailer. `from` is `MAIL_FROM`, such as `Usher <login@example.com>`. */
export function composeMessage(mail: Mail, from: string) {
  const { application, language } = mail;
  const replyTo = supportAddressOf(application);
  return {
    from: { name: withoutControls(application.name), address: addressOf(from) },
    // Nodemailer does not parse an address in an object, so it cannot hold a display name or further recipients.
    // A user from before Usher stored A-labels may have Unicode, which nodemailer would not compose.
    to: { name: '', address: canonicalizeEmail(mail.to) ?? mail.to },
    ...(replyTo && { replyTo: { name: '', address: replyTo } }),
    subject: toLine(language, mail.subject),
    text: toPlainText(mail),
    html: toHtmlText(mail),
    headers: {
      // Prevents automatic replies: the first header by RFC 3834, the second for Exchange.
      'auto-submitted': 'auto-generated',
      'x-auto-response-suppress': 'All',
      'content-language': language.tag,
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  } satisfies SendMailOptions;
}

function addressOf(from: string): string {
  return (/<([^<>]+)>\s*$/.exec(from)?.[1] ?? from).trim();
}
