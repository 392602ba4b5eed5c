import type { MailApplication } from './mail.ts';

/** One plain address: others would need more syntax than a header should get from a URI. */
const MAILTO = /^mailto:([\w.!#$&'*+/=^`{|}~-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)*)$/i;

/** Returns the address of the application's support, or undefined if it has none for e-mails. */
export function supportAddressOf({ supportUri }: MailApplication): string | undefined {
  return MAILTO.exec(supportUri ?? '')?.[1];
}

/** Returns where to find help: an address, a URL, or the name of the application. */
export function supportOf(application: MailApplication): string {
  return supportAddressOf(application) ?? (application.supportUri || application.name);
}
