/** Usher as a provider to test from outside. */
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createCertificate } from '../certificate.ts';
import { MINUTE, TestClock } from '../clock.ts';
import { findFreePort } from '../free-port.ts';
import { LOGIN_CONFIG, newAddress } from '../login-browser.ts';
import { Mailbox } from '../mail-server.ts';
import { createRsaJwk } from '../oidc.ts';
import { adminClient, createTestUser, PUBLIC_URL, startTestService, type TestService } from '../service.ts';
import type { Browser, Form, Page } from './browser.ts';
import { LogoutReceiver } from './logout-receiver.ts';
import { CALLBACK, type Client, LOGGED_OUT, type OpenIdProvider, PERSON } from './provider.ts';

export interface UsherProvider extends OpenIdProvider {
  readonly service: TestService;
  readonly applicationId: string;
  readonly userId: string;
  readonly mailbox: Mailbox;
}

interface UsherOptions {
  readonly redirectUris?: readonly string[];
  readonly loggedOutUris?: readonly string[];
  readonly backchannelLogoutUri?: string;
  readonly requirePkce?: boolean;
  /** Whether its client has no secret. */
  readonly isPublic?: boolean;
  /** A login page of the operator. */
  readonly authPageUrl?: string;
  /** Serves TLS under its own address, with a certificate that this process trusts, and with the real time. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

let trusted: Promise<{ cert: string; key: string }> | undefined;

/** Returns a certificate for localhost that this process trusts: always the same, since its issuer has one name. */
export function trustCertificate(): Promise<{ cert: string; key: string }> {
  trusted ??= createCertificate().then((tls) => {
    setDefaultCACertificates([...getCACertificates('default'), tls.cert]);
    return tls;
  });
  return trusted;
}

export async function startUsherProvider({ tls, ...options }: UsherOptions = {}): Promise<UsherProvider> {
  const logouts = await LogoutReceiver.start();
  const clock = tls ? undefined : new TestClock();
  const mailbox = new Mailbox();
  const port = tls ? await findFreePort() : 0;
  const issuer = tls ? `https://localhost:${port}` : PUBLIC_URL;
  const service = await startTestService({
    ...(clock && { clock: clock.read }),
    sendMail: mailbox.sendMail,
    oidcSigningKeys: [createRsaJwk()],
    config: {
      ...LOGIN_CONFIG,
      port,
      publicUrl: issuer,
      ...(tls && { tls }),
      ...(options.authPageUrl && { authPageUrl: options.authPageUrl }),
      webhookDelivery: true,
      webhookAllowedNetworks: ['127.0.0.0/8'],
      webhookRetrySchedule: [0, 1, 1],
    },
  });
  // Over TLS the service's own URL is https, and its name the one in the certificate.
  const reachable = { ...service, url: tls ? issuer : service.url };
  const register = async (): Promise<Client & { id: string }> => {
    const admin = adminClient(reachable);
    const { application } = await admin.createApplication({
      name: 'Client',
      redirectUris: [...(options.redirectUris ?? [CALLBACK])],
      postLogoutRedirectUris: [...(options.loggedOutUris ?? [LOGGED_OUT])],
      backchannelLogoutUri: options.backchannelLogoutUri ?? logouts.url,
      openIdConnect: true,
      requirePkce: options.requirePkce ?? false,
      publicClient: options.isPublic ?? false,
      singleSignOn: true,
    });
    const { id = '', clientId = '' } = application ?? {};
    const { apiKey: clientSecret } = await admin.createApiKey({ applicationId: id, use: 'CLIENT_SECRET' });
    return { id, clientId, clientSecret };
  };
  const client = await register();
  const { id: userId } = await createTestUser(reachable, PERSON);
  return {
    name: 'Usher',
    service: reachable,
    mailbox,
    userId,
    applicationId: client.id,
    route: { issuer, url: reachable.url, headers: { 'x-forwarded-for': newAddress() } },
    client,
    otherClient: await register(),
    logouts,
    now: clock?.read ?? (() => new Date()),
    wait: async (milliseconds) => clock?.advance(milliseconds),
    handlePage: (browser, page, onSignIn) => handlePage(browser, page, mailbox, { clock, onSignIn }),
    async [Symbol.asyncDispose]() {
      await service.close();
      await logouts[Symbol.asyncDispose]();
    },
  };
}

/** Does what a person does on a page of Usher: continues, or asks for a code and enters it. */
async function handlePage(
  browser: Browser,
  page: Page,
  mailbox: Mailbox,
  { clock, onSignIn }: { clock?: TestClock | undefined; onSignIn: () => void },
): Promise<Page | undefined> {
  const find = (action: string): Form | undefined => page.forms.find((form) => form.action.startsWith(action));
  const [again, email, code] = [find('/login/continue'), find('/login/email'), find('/login/code')];
  if (again) return browser.submit(page, again);
  if (code) {
    onSignIn();
    return browser.submit(page, code, { code: mailbox.codeFor(PERSON.email) });
  }
  if (!email) return undefined;
  // One person gets few codes a day from new browsers.
  clock?.advance(20 * MINUTE);
  const sent = mailbox.codes.length;
  const next = await browser.submit(page, email, { email: PERSON.email });
  if (mailbox.codes.length === sent) throw new Error(`No code was sent: ${next.body}`);
  return next;
}
