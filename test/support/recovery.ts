/** The way back into an account, in a browser without JavaScript: the link, the spoken code, and the last button. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { CreateRecoveryLinkRequestSchema } from '../../gen/usher/v1/admin_pb.ts';
import type { LoginBrowser, LoginPage } from './login-browser.ts';
import type { Mailbox } from './mail-server.ts';
import { adminClient } from './service.ts';

export type MadeLink = Awaited<ReturnType<typeof makeRecoveryLink>>;

/** Makes a link that works at once. */
export async function makeRecoveryLink(
  service: { url: string },
  { id: userId }: { readonly id: string },
  removes: readonly string[] = ['PASSKEYS'],
  given: MessageInitShape<typeof CreateRecoveryLinkRequestSchema> = {},
) {
  const request = { userId, removes: [...removes], reason: 'Called from a known number.', delayHours: 0, ...given };
  const { recoveryLink, url, spokenCode, stoppedBefore } = await adminClient(service).createRecoveryLink(request);
  if (!recoveryLink) throw new Error('No recovery link');
  return { ...recoveryLink, url, spokenCode, stoppedBefore };
}

/** Opens the link, without its script: the person pastes it. */
export async function openLink(browser: LoginBrowser, { url }: Pick<MadeLink, 'url'>): Promise<LoginPage> {
  return browser.submit(await browser.open('/recover'), '/recover', { link: url });
}

export async function enterDigits(
  browser: LoginBrowser,
  made: Pick<MadeLink, 'url' | 'spokenCode'>,
  code = made.spokenCode,
): Promise<LoginPage> {
  return browser.submit(await openLink(browser, made), '/recover/code', { code });
}

/** Returns the page with the last button. With an address, it proves that by a code. */
export async function reachLastButton(
  browser: LoginBrowser,
  made: MadeLink,
  changed?: { readonly email: string; readonly mailbox: Mailbox },
): Promise<LoginPage> {
  const page = await enterDigits(browser, made);
  if (!changed) return page;
  const { email, mailbox } = changed;
  const codePage = await browser.submit(page, '/recover/address', { email });
  return browser.submit(codePage, '/recover/address/code', { proof: mailbox.codeFor(email) });
}

/** Goes the whole way, and returns the page of the passkeys. */
export async function recover(...[browser, made, changed]: Parameters<typeof reachLastButton>): Promise<LoginPage> {
  return browser.submit(await reachLastButton(browser, made, changed), '/recover/use');
}
