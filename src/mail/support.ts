import type { MailApplication } from './mail.ts';

/** A single plain address. Anything more could add syntax to the header that the address is written to. */
const MAILTO = /^mailto:([\w.!#$&'*+/=^`{|}~-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*)$/i;

/** Returns the e-mail address of the application's support, or undefined if it has none. */
export function supportAddressOf({ supportUri }: MailApplication): string | undefined {
  return MAILTO.exec(supportUri ?? '')?.[1];
}

/** Returns an e-mail address, a URL, or the name of the application if it has no support URI. */
export function supportOf(application: MailApplication): string {
  return supportAddressOf(application) ?? (application.supportUri || application.name);
}
