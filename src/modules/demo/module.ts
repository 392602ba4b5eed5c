/** The demo of the first start: two applications that sign people in. Only on the embedded Postgres. */
import type { Config } from '../../config/config.ts';
import { BY_USHER, withAudit } from '../../domain/audit/audit-event.ts';
import { completeLogin } from '../../domain/login/complete-login.ts';
import { createAuthPageLink, generateAuthUrl } from '../../domain/login/generate-auth-url.ts';
import { exchangeToken } from '../../domain/sessions/exchange-token.ts';
import type { Module, OpenedModule } from '../module.ts';
import { type Demo, type DemoParts, openDemo } from './demo.ts';
import { createDemoApplication, createState } from './site.ts';

export interface OpenedDemo extends OpenedModule {
  readonly demo: Demo;
}

export const demoModule: Module = {
  name: 'demo',
  settings: {},
  offer: (config) => (config.databaseUrl === undefined ? { open: (core) => open(config, core) } : {}),
};

async function open(config: Config, core: DemoParts): Promise<OpenedDemo> {
  const demo = await openDemo(config, core);
  const { apiKey, canSignIn, clientId, email, homeUrl } = demo;
  const text = `${homeUrl}    sign in as ${email}, the code appears here`;
  return {
    demo,
    handlers: [createDemoApplication(demo, core, (line) => process.stdout.write(line))],
    greeting: {
      title: 'Demo',
      url: homeUrl,
      text: canSignIn ? text : '',
      variables: { CLIENT_ID: clientId, API_KEY: apiKey },
      readExampleValues: () => makeExampleValues(demo, core),
    },
  };
}

/** Values of the demo for the variables in the examples of the API reference. */
const TIMEOUT_MS = 5_000;
const PEER = { ipAddress: '127.0.0.1', userAgent: 'Usher demo' };

/** Signs the demo's user in for each page, because auth tokens and sessions last only 15 minutes. */
async function makeExampleValues(
  { apiKey, applicationId, applicationName, clientId, eventIds, redirectUri, redirectUris, userId, webhookId }: Demo,
  parts: DemoParts,
): Promise<Readonly<Record<string, string>>> {
  const now = parts.clock();
  const run = parts.database.within(performance.now() + TIMEOUT_MS);
  const application = { id: applicationId, name: applicationName, clientId, redirectUris };
  const call = { run: withAudit(run, { ...BY_USHER, action: 'demo', now }), now, application };
  const login = { clientId, redirectUri, state: createState(apiKey) };
  const { loginIntentId } = await generateAuthUrl(call, createAuthPageLink(parts.authPageUrl), login);
  const { authToken } = await completeLogin(call, parts.tokens, { loginIntentId, userId });
  // Reads the clock again, because the token was issued after `call.now`.
  const session = await exchangeToken({ ...call, now: parts.clock() }, parts, PEER, { authToken });
  return {
    API_KEY: apiKey,
    CLIENT_ID: clientId,
    REDIRECT_URI: redirectUri,
    STATE: login.state,
    AUTH_TOKEN: authToken,
    SESSION_ID: session.id,
    USER_ID: userId,
    OWNER_ID: userId,
    WEBHOOK_ID: webhookId,
    EVENT_ID: eventIds.at(-1) ?? '',
    APPLICATION_ID: applicationId,
  };
}
