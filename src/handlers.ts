/** What answers requests: the API, the login page, and the demo application of an embedded Postgres. */
import { Admission } from './api/admission.ts';
import { type ApiParts, createApi } from './api/api.ts';
import { sendFailure } from './api/envelope.ts';
import type { Bootstrap } from './bootstrap.ts';
import type { Config } from './config/config.ts';
import { createDemoApplication } from './demo/application.ts';
import { type Demo, openDemo } from './demo/demo.ts';
import { AdminKeys } from './domain/admin-keys.ts';
import { AuthTokens } from './domain/login/auth-tokens.ts';
import { ExternalIssuer } from './domain/login/external-issuer.ts';
import { deriveLoginCodeKeys } from './domain/login/login-code.ts';
import { PageTokens } from './domain/pages/page-tokens.ts';
import type { HttpHandler, PathHandler } from './http/http-context.ts';
import type { LoginMailer } from './login-page/login-mailer.ts';
import { createLoginPage, LOGIN_LIMITS } from './login-page/login-page.ts';

/** Multiplies the limits on login codes where the terminal shows them: whoever tries Usher signs in many times. */
const TRIAL_FACTOR = 100;

/** What is made here for the API. */
type OwnParts = 'adminKeys' | 'authPageUrl' | 'pageTokens' | 'requestTimeoutMs' | 'sessionMaxAgeSeconds' | 'tokens';

export interface HandlerParts extends Omit<ApiParts, OwnParts> {
  readonly bootstrap: Bootstrap;
  /** The demo of this start, if another process has opened it. */
  readonly demo: Demo | undefined;
  readonly mailer: LoginMailer;
  /** How this machine reaches the server. */
  readonly url: string;
}

/** @throws Error of one line if the settings contradict each other */
export async function createHandlers(config: Config, { bootstrap, ...given }: HandlerParts) {
  const { secrets, isEmbedded } = bootstrap;
  const { requestTimeoutMs, sessionMaxAgeSeconds } = config;
  const publicUrl = config.publicUrl ?? given.url;
  // The default of PUBLIC_URL is not known before the port is.
  if (config.authIssuer?.issuer === publicUrl) throw new Error('AUTH_ISSUER must not be PUBLIC_URL');
  const external = config.authIssuer && new ExternalIssuer(config.authIssuer.issuer, config.authIssuer.jwksUrl);
  const tokens = await AuthTokens.create(publicUrl, secrets.authSigningKeys, external);
  const pageUrl = `${publicUrl.replace(/\/$/, '')}/login`;
  const authPageUrl = config.authPageUrl ?? pageUrl;
  const hasLoginPage = config.authPageUrl === undefined;
  const parts = { ...given, authPageUrl, requestTimeoutMs, sessionMaxAgeSeconds, tokens };

  const api = createApi({
    ...parts,
    adminKeys: new AdminKeys([{ name: 'admin', key: secrets.adminKey }, ...config.adminKeys]),
    pageTokens: new PageTokens(secrets.encryptionKeys),
  });
  const handlers: PathHandler[] = [...api.handlers];
  const admission = new Admission(LOGIN_LIMITS, requestTimeoutMs);
  if (hasLoginPage) {
    const limitFactor = isEmbedded && !config.smtp ? TRIAL_FACTOR : 1;
    const codes = { keys: deriveLoginCodeKeys(secrets.encryptionKeys), limitFactor };
    handlers.push(createLoginPage({ ...parts, admission, codes, methods: config.loginMethods, pageUrl }));
  }
  let { demo } = given;
  if (isEmbedded) {
    const showsCodes = hasLoginPage && !config.smtp && config.loginMethods.includes('email');
    demo ??= await openDemo({ ...parts, directory: config.dataDir, showsCodes });
    handlers.push(createDemoApplication(demo, given.url, (text) => process.stdout.write(text)));
  }
  return {
    admissions: { ...api.admissions, login: admission },
    caches: api.caches,
    demo,
    handle: askInOrder(api.rest, handlers),
    handleStream: api.grpcStreams,
  };
}

/** REST answers everything below `/api`. The first handler that knows the path answers the rest. */
function askInOrder(rest: HttpHandler, handlers: readonly PathHandler[]): HttpHandler {
  return async (context) => {
    if (context.path === '/api' || context.path.startsWith('/api/')) return rest(context);
    for (const handle of handlers) if (await handle(context)) return;
    sendFailure(context, 'NOT_FOUND');
  };
}
