/** Opens the port of the console. Loads its pages with the first request, so that Usher starts faster. */
import type { BlockList } from 'node:net';
import type { Api } from '../api/api.ts';
import { renderFailure } from '../api/envelope.ts';
import { blame } from '../config/blame.ts';
import type { Config } from '../config/config.ts';
import type { Secrets } from '../config/secrets.ts';
import type { HttpHandler } from '../http/http-context.ts';
import { Listener } from '../http/listener.ts';
import type { Certificate } from '../http/tls.ts';
import type { SharedParts } from './console-parts.ts';
import { defaultConsolePort, TRIAL_OPERATORS } from './embedded-defaults.ts';
import { deriveConsoleKeys } from './keys.ts';
import { OperatorsFile } from './operators-file.ts';
import { createSignInLink } from './sign-in-link.ts';

interface GivenParts extends Omit<SharedParts, 'admissions' | 'config' | 'exporter' | 'liveSessions' | 'procedures'> {
  readonly api: Pick<Api, 'admissions' | 'caches' | 'exporter' | 'procedures'>;
  readonly trustedProxies: BlockList;
}

export interface OperatorConsole extends AsyncDisposable {
  readonly url: string;
  /** A link that signs the first admin in, once. Only with embedded Postgres, where `npm start` prints it. */
  readonly link: string | undefined;
  /** Takes effect for new connections. */
  readonly setCertificate: (certificate: Certificate) => void;
}

/** Opens the console, or returns undefined if it is off. @throws Error with a message of one line */
export async function openConsole(
  config: Config,
  { encryptionKeys }: Pick<Secrets, 'encryptionKeys'>,
  { api, trustedProxies, ...parts }: GivenParts,
): Promise<OperatorConsole | undefined> {
  const isEmbedded = config.databaseUrl === undefined;
  if (config.consolePort === undefined && !isEmbedded) return undefined;
  const listener = await openPort(config, trustedProxies);
  const { logger } = parts;
  const given = config.operators ?? TRIAL_OPERATORS;
  const operators = new OperatorsFile(given, config.operatorsFile, logger);
  const closing = new AbortController();
  const watching = operators.run(closing.signal);
  const consoleUrl = config.consoleUrl ?? listener.url;
  const keys = deriveConsoleKeys(encryptionKeys);
  const cookies = { keys, isSecure: consoleUrl.startsWith('https:') };
  let certificate: Certificate | undefined = config.tls;
  const readCertificate = () => certificate;
  let handler: Promise<HttpHandler> | undefined;
  const load = async () => {
    const { createConsoleHandler } = await import('./console-handler.ts');
    const { admissions, caches, exporter, procedures } = api;
    const shared = { ...parts, admissions, exporter, liveSessions: caches.sessions, procedures };
    return createConsoleHandler({ ...shared, config, consoleUrl, cookies, operators, readCertificate });
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
  const admin = [...given.values()].find(({ role, needsPasskey }) => role === 'admin' && !needsPasskey);
  return {
    url: consoleUrl,
    link: isEmbedded && admin ? createSignInLink(keys, consoleUrl, admin.email, parts.clock()) : undefined,
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

/** Without CONSOLE_PORT, opens the port after that of the API, or any free port. */
function openPort(config: Config, trustedProxies: BlockList) {
  const { consolePort, consoleHost: host, port } = config;
  const open = (given: number) =>
    Listener.open({ ...config, host, port: given, trustedProxies, renderError: renderFailure });
  if (consolePort !== undefined) return open(consolePort).catch(blame('CONSOLE_HOST', 'CONSOLE_PORT'));
  return open(defaultConsolePort(port))
    .catch(() => open(0))
    .catch(blame('CONSOLE_HOST', 'CONSOLE_PORT'));
}
