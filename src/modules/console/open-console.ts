/** Opens the port of the console. Loads its pages with the first request, so that Usher starts faster. */
import { writeFile } from 'node:fs/promises';
import type { BlockList } from 'node:net';
import { renderFailure } from '../../api/envelope.ts';
import { nameSettings } from '../../config/name-settings.ts';
import { TRIAL_OPERATORS } from '../../config/operators.ts';
import { createOutageFinder, nameDatabase } from '../../database/connection/find-outage.ts';
import type { HttpHandler } from '../../http/http-context.ts';
import { Listener } from '../../http/listener.ts';
import type { Certificate } from '../../http/tls.ts';
import type { Greeting, OpenedModule } from '../module.ts';
import type { ConsoleCore } from './console-parts.ts';
import { consoleUrlFile, defaultConsolePort, findFirstAdmin } from './embedded-defaults.ts';
import { deriveConsoleKeys } from './keys.ts';
import { OperatorsFile } from './operators-file.ts';
import type { ConsoleConfig } from './settings.ts';
import { createSignInLink } from './sign-in-link.ts';

/** @throws Error with a message of one line */
export async function openConsole(
  config: ConsoleConfig,
  { api, databaseUrl, secrets, trustedProxies, ...parts }: ConsoleCore,
): Promise<OpenedModule> {
  const isEmbedded = config.databaseUrl === undefined;
  const listener = await openPort(config, trustedProxies);
  const { logger } = parts;
  const given = config.operators ?? TRIAL_OPERATORS;
  const operators = new OperatorsFile(given, config.operatorsFile, logger);
  const closing = new AbortController();
  const watching = operators.run(closing.signal);
  const consoleUrl = config.consoleUrl ?? listener.url;
  const keys = deriveConsoleKeys(secrets.encryptionKeys);
  const cookies = { keys, isSecure: consoleUrl.startsWith('https:') };
  let certificate: Certificate | undefined = config.tls;
  const readCertificate = () => certificate;
  let handler: Promise<HttpHandler> | undefined;
  const load = async () => {
    const { createConsoleHandler } = await import('./console-handler.ts');
    const { admissions, caches, exporter, procedures } = api;
    const ofApi = { admissions, exporter, liveSessions: caches.sessions, procedures };
    const ofDatabase = { databaseName: nameDatabase(databaseUrl), findOutages: createOutageFinder(databaseUrl) };
    const own = { config, consoleUrl, cookies, operators, readCertificate };
    return createConsoleHandler({ ...parts, ...ofApi, ...ofDatabase, ...own });
  };
  listener.serve({
    handlers: [
      async (context) => {
        handler ??= load();
        await (await handler)(context);
        return true;
      },
    ],
    handleStream: () => false,
    pathsWithoutHost: new Set(),
    onError: (error, requestId) => logger.error({ err: error, requestId }, 'unexpected error'),
  });
  // With embedded Postgres, the text that `npm start` prints has the URL.
  logger[isEmbedded ? 'debug' : 'info']({ url: listener.url, consoleUrl }, 'console listening');
  if (isEmbedded) await writeFile(consoleUrlFile(config), consoleUrl);
  const admin = findFirstAdmin(given);
  return {
    greeting: isEmbedded && admin ? greet(createSignInLink(keys, consoleUrl, admin.email, parts.clock())) : undefined,
    setCertificate(renewed) {
      listener.setCertificate(renewed);
      certificate = renewed;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all([watching, listener.close(config.shutdownTimeoutMs)]);
    },
  };
}

/** `npm start` prints a link that signs the first admin in, once. */
function greet(link: string): Greeting {
  return { title: 'Console', url: new URL(link).origin, text: `works once, for 15 minutes:\n  ${link}` };
}

/** Without CONSOLE_PORT, opens the port after that of the API, or any free port. */
function openPort(config: ConsoleConfig, trustedProxies: BlockList) {
  const { consolePort, consoleHost: host, port } = config;
  const open = (given: number) =>
    Listener.open({ ...config, host, port: given, trustedProxies, renderError: renderFailure });
  if (consolePort !== undefined) return open(consolePort).catch(nameSettings('CONSOLE_HOST', 'CONSOLE_PORT'));
  return open(defaultConsolePort(port))
    .catch(() => open(0))
    .catch(nameSettings('CONSOLE_HOST', 'CONSOLE_PORT'));
}
