/** Opens the demo: two applications, a user, a webhook and an event to try Usher with. Only on the embedded Postgres. */
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { readOrCreateFile } from '../../config/files.ts';
import { p, statement } from '../../database/sql/template.ts';
import { createApplication } from '../../domain/applications/create-application.ts';
import { getApplication } from '../../domain/applications/get-application.ts';
import { isRegistered, isRegistrable } from '../../domain/applications/redirect-uri.ts';
import { setApplicationLogo } from '../../domain/applications/set-application-logo.ts';
import { BY_USHER, withAudit } from '../../domain/audit/audit-event.ts';
import type { ApplicationCall, Call } from '../../domain/core/call.ts';
import { createEvent } from '../../domain/events/create-event.ts';
import { getEvent } from '../../domain/events/get-event.ts';
import { EVERY_TYPE } from '../../domain/outbox/event-types.ts';
import { addApplicationUser } from '../../domain/users/add-application-user.ts';
import { createUser } from '../../domain/users/create-user.ts';
import { findUrlProblem } from '../../domain/webhooks/address-policy.ts';
import { createWebhook } from '../../domain/webhooks/create-webhook.ts';
import { getWebhook } from '../../domain/webhooks/get-webhook.ts';
import { updateWebhook } from '../../domain/webhooks/update-webhook.ts';
import type { Core } from '../module.ts';
import { CAFE, DEMO, type Site } from './pages.ts';

const TIMEOUT_MS = 10_000;

export type DemoParts = Pick<
  Core,
  | 'authPageUrl'
  | 'cipher'
  | 'clock'
  | 'database'
  | 'policy'
  | 'webhooksPerApplication'
  | 'sessionMaxAgeSeconds'
  | 'tokens'
  | 'url'
>;

/** The content of `demo.json`, which is kept between starts. */
interface KeptDemo extends DemoApplication {
  /** Shares sign-ins with the first application. Undefined until it is created. */
  readonly cafe?: DemoApplication | undefined;
  readonly userId: string;
  readonly email: string;
  readonly webhookId: string;
  readonly eventIds: readonly string[];
}

export interface Demo extends KeptDemo {
  readonly adminKeyFile: string;
  readonly redirectUri: string;
  /** The first page of the demo. */
  readonly homeUrl: string;
  readonly cafe: DemoApplication & { readonly redirectUri: string };
  /** The account page of Usher, if it has one. */
  readonly accountUrl: string | undefined;
  /** The sign-in methods of Usher's login page. Empty if people sign in elsewhere. */
  readonly methods: readonly string[];
  /**
   * Whether people can sign in to the demo application: the terminal shows codes, and the redirect URI is registered.
   */
  readonly canSignIn: boolean;
}

/** Returns the demo in the data directory, or creates one and stores it there with mode 0600. */
export async function openDemo(config: Config, parts: DemoParts): Promise<Demo> {
  const now = parts.clock();
  const run = parts.database.within(performance.now() + TIMEOUT_MS);
  const call: Call = { run: withAudit(run, { ...BY_USHER, action: 'demo', now }), now };
  const file = join(config.dataDir, 'demo.json');
  const found = await readDemo(file);
  const isKept = found && (await call.run(selectDemo, { ...found })).length > 0;
  const kept = isKept ? found : await createDemo(call, parts.tokens.issuer);
  const { applicationId, clientId, redirectUris } = kept;
  const application = { id: applicationId, name: kept.applicationName, clientId, redirectUris };
  const applicationCall = { ...call, application };
  const cafe = await openCafe(call, parts.tokens.issuer, kept.cafe);
  const eventIds = [await openEvent(applicationCall, kept.eventIds[0])];
  const webhookId = await openWebhook(applicationCall, parts, kept);
  await rm(file, { force: true });
  await readOrCreateFile(file, () => JSON.stringify({ ...kept, cafe, webhookId, eventIds }, null, 2));

  const homeUrls = [parts.tokens.issuer, parts.url];
  // The callback at PUBLIC_URL is registered if the demo was created with it.
  const baseUrl = homeUrls.find((url) => findCallback(DEMO, url, redirectUris).canReturn) ?? parts.url;
  const { redirectUri, canReturn } = findCallback(DEMO, baseUrl, redirectUris);

  const showsCodes = config.authPageUrl === undefined && !config.smtp && config.loginMethods.includes('email');
  const canSignIn = showsCodes && canReturn;
  return {
    ...kept,
    adminKeyFile: resolve(config.dataDir, 'admin-key'),
    cafe: { ...cafe, redirectUri: findCallback(CAFE, baseUrl, cafe.redirectUris).redirectUri },
    accountUrl: config.authPageUrl === undefined ? parts.authPageUrl.replace(/\/login$/, '/account') : undefined,
    methods: config.authPageUrl === undefined ? config.loginMethods : [],
    webhookId,
    eventIds,
    redirectUri,
    // Where people return to after a sign-in: browsers keep the cookies of localhost and 127.0.0.1 apart.
    homeUrl: canReturn ? redirectUri.replace(/\/callback$/, '') : baseUrl.replace(/\/$/, '') + DEMO.path,
    canSignIn,
  };
}

/** Returns the kept event, or creates another one if it was deleted. */
async function openEvent(call: ApplicationCall, kept: string | undefined): Promise<string> {
  const found = await getEvent(call, { eventId: kept }).catch(() => undefined);
  if (found) return found.eventId;
  const eventId = `demo-event-${randomUUID().slice(0, 8)}`;
  await createEvent(call, { eventId, name: 'Demo event' });
  return eventId;
}

/** Returns undefined if the file cannot be read. */
async function readDemo(file: string): Promise<KeptDemo | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Returns no row if the application or its user is deleted, or the database is new. */
const selectDemo = statement('select_demo')`
  select from applications a, users u
  where a.id = ${p.uuid('applicationId')} and a.deleted_at is null
    and u.id = ${p.uuid('userId')} and u.deleted_at is null`;

async function createDemo(call: Call, url: string): Promise<KeptDemo> {
  const application = await registerApplication(call, DEMO, url);
  const { applicationId } = application;
  const profile = { name: 'Ada Lovelace', walletAddress: `0x${applicationId.replaceAll('-', '')}00ada000` };
  const create = (email: string) => createUser(call, { ...profile, email });
  // The user of an earlier demo may have the address.
  const user = await create('ada@example.com').catch(() => create(`ada.${applicationId.slice(0, 8)}@example.com`));
  return { ...application, userId: user.id, email: user.email, webhookId: '', eventIds: [] };
}

export const RECEIVER_PATH = '/demo/hooks';
/** The URL of the webhook while the settings forbid webhooks to this machine. */
const PLACEHOLDER = 'https://example.com/hooks';

/** Returns the ID of the webhook. Updates its URL, because the port may have changed. Creates another one if it was deleted. */
async function openWebhook(
  call: ApplicationCall,
  parts: Pick<DemoParts, 'url' | 'cipher' | 'policy' | 'webhooksPerApplication'>,
  { webhookId, userId }: { webhookId: string; userId: string },
): Promise<string> {
  const url = new URL(RECEIVER_PATH, parts.url).href;
  // The settings may forbid this machine or its port.
  const isAllowed = findUrlProblem(url, parts.policy) === undefined;
  const target = isAllowed ? { url, eventTypes: [EVERY_TYPE] } : { url: PLACEHOLDER, eventTypes: ['webhook.test'] };
  const kept = await getWebhook(call, parts.cipher, { webhookId }).catch(() => undefined);
  if (!kept) {
    await addApplicationUser(call, { applicationId: call.application.id, userId });
    return (await createWebhook(call, parts, { ...target, ownerId: userId })).id;
  }
  // Otherwise the developer has given the webhook another URL, which stays.
  const isUnchanged = kept.url === PLACEHOLDER || new URL(kept.url).pathname === RECEIVER_PATH;
  if (isUnchanged) await updateWebhook(call, parts, { ...target, webhookId, isActive: true });
  return kept.id;
}

const DAY_SECONDS = 24 * 60 * 60;
/** How long a visitor can be idle and stay signed in. */
export const SESSION_IDLE_SECONDS = 7 * DAY_SECONDS;

const SETTINGS = {
  allowSignUp: true,
  askName: true,
  singleSignOn: true,
  sessionIdleSeconds: SESSION_IDLE_SECONDS,
  sessionMaxAgeSeconds: 30 * DAY_SECONDS,
};

export interface DemoApplication {
  readonly apiKey: string;
  readonly applicationId: string;
  readonly applicationName: string;
  readonly clientId: string;
  readonly redirectUris: readonly string[];
}

async function registerApplication(call: Call, site: Site, url: string): Promise<DemoApplication> {
  const { name, path, accentColor, logo } = site;
  // The last one is for the quick starts of the API reference.
  const callbacks = [`http://127.0.0.1${path}/callback`, toCallback(path, url).href, 'http://127.0.0.1/callback'];
  const request = { ...SETTINGS, name, accentColor, redirectUris: callbacks.filter(isRegistrable) };
  const { application, apiKey } = await createApplication(call, request);
  const { id: applicationId, clientId, redirectUris } = application;
  const image = logo && (await readFile(new URL(logo, import.meta.url)));
  // One image serves both themes, because it has a background of its own.
  if (image) for (const theme of ['light', 'dark']) await setApplicationLogo(call, { applicationId, theme, image });
  return { apiKey, applicationId, applicationName: name, clientId, redirectUris };
}

/** Returns the second application, or creates another one if it was deleted. */
async function openCafe(call: Call, url: string, kept: DemoApplication | undefined): Promise<DemoApplication> {
  // Equivalent: condition: what is undefined is no application
  const isKept = kept && (await getApplication(call, kept).catch(() => undefined));
  return isKept ? kept : registerApplication(call, CAFE, url);
}

/**
 * Returns the redirect URI of a site, and whether it leads to this server. A registered http://127.0.0.1 matches any
 * port, so the demo works after a change of PORT.
 */
function findCallback(
  { path }: Site,
  url: string,
  redirectUris: readonly string[],
): { redirectUri: string; canReturn: boolean } {
  const callback = toCallback(path, url);
  if (callback.protocol === 'http:' && callback.hostname === 'localhost') callback.hostname = '127.0.0.1';
  // False if the URL cannot be registered, or if its scheme has changed since the demo was created.
  const canReturn = isRegistered(callback.href, redirectUris);
  return { redirectUri: canReturn ? callback.href : (redirectUris[0] ?? ''), canReturn };
}

function toCallback(path: string, url: string): URL {
  return new URL(`${url.replace(/\/$/, '')}${path}/callback`);
}
