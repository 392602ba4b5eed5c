import type { SendMailOptions } from 'nodemailer';
import { toHtmlText } from './html-text.ts';
import type { Mail } from './mail.ts';
import { toLine, toPlainText, withoutControls } from './plain-text.ts';
import { supportAddressOf } from './support.ts';

/** Returns the fields of a message of nodemailer. `from` is the sender of all e-mails, such as `Usher <login@example.com>`. */
export function composeMessage(mail: Mail, from: string) {
  const { application, language } = mail;
  const replyTo = supportAddressOf(application);
  return {
    from: { name: withoutControls(application.name), address: addressOf(from) },
    // An object, so that the address is not parsed: it has no display name and no other recipients.
    to: { name: '', address: mail.to },
    ...(replyTo && { replyTo: { name: '', address: replyTo } }),
    subject: toLine(language, mail.subject),
    text: toPlainText(mail),
    html: toHtmlText(mail),
    headers: {
      // RFC 3834: no automatic replies. Exchange needs a header of its own.
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
