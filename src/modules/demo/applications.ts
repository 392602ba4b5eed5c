/** Creates the applications of the demo. Later starts keep them, so that a developer can change their settings. */
import { readFile } from 'node:fs/promises';
import { createApplication } from '../../domain/applications/create-application.ts';
import { getApplication } from '../../domain/applications/get-application.ts';
import { isRegistered, isRegistrable } from '../../domain/applications/redirect-uri.ts';
import { setApplicationLogo } from '../../domain/applications/set-application-logo.ts';
import type { Call } from '../../domain/core/call.ts';
import { CAFE, type Site } from './pages.ts';

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

export async function registerApplication(call: Call, site: Site, url: string): Promise<DemoApplication> {
  const { name, path, accentColor, logo } = site;
  // The last one is for the quick starts of the API reference.
  const callbacks = [`http://127.0.0.1${path}/callback`, toCallback(path, url).href, 'http://127.0.0.1/callback'];
  const request = { ...SETTINGS, name, accentColor, redirectUris: callbacks.filter(isRegistrable) };
  const { application, apiKey } = await createApplication(call, request);
  const { id: applicationId, clientId, redirectUris } = application;
  const image = logo && (await readFile(new URL(logo, import.meta.url)));
  // One image serves both themes, because it has a background of its own.
  for (const theme of image ? ['light', 'dark'] : []) await setApplicationLogo(call, { applicationId, theme, image });
  return { apiKey, applicationId, applicationName: name, clientId, redirectUris };
}

/** Returns the second application, or creates another one if it was deleted. */
export async function openCafe(call: Call, url: string, kept: DemoApplication | undefined): Promise<DemoApplication> {
  const isKept = kept && (await getApplication(call, kept).catch(() => undefined));
  return isKept ? kept : registerApplication(call, CAFE, url);
}

/**
 * Returns the redirect URI of a site, and whether it leads to this server. A registered http://127.0.0.1 matches any
 * port, so the demo works after a change of PORT.
 */
export function findCallback(
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
