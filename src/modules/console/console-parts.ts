/** The dependencies of the console: parts of the API, and its own settings. */
import type { Api } from '../../api/api.ts';
import type { CallLog } from '../../api/calls.ts';
import type { LiveSessions } from '../../domain/sessions/live-sessions.ts';
import type { Certificate } from '../../http/tls.ts';
import type { Core } from '../module.ts';
import type { CookieSettings } from './cookies.ts';
import type { OperatorsFile } from './operators-file.ts';
import type { ConsoleConfig } from './settings.ts';

/** What the console needs of the core. */
export type ConsoleCore = CallLog &
  Pick<
    Core,
    | 'api'
    | 'authPageUrl'
    | 'cipher'
    | 'clock'
    | 'database'
    | 'databaseUrl'
    | 'hasOidc'
    | 'health'
    | 'mailServer'
    | 'notices'
    | 'onMessage'
    | 'pages'
    | 'pageTokens'
    | 'providers'
    | 'readiness'
    | 'secrets'
    | 'sessionMaxAgeSeconds'
    | 'tokens'
    | 'trustedProxies'
  >;

export interface ConsoleParts
  extends Omit<ConsoleCore, 'api' | 'databaseUrl' | 'secrets' | 'trustedProxies'>,
    Pick<Api, 'admissions' | 'exporter' | 'procedures'> {
  readonly config: ConsoleConfig;
  /** The origin of the console in browsers. */
  readonly consoleUrl: string;
  readonly cookies: CookieSettings;
  readonly liveSessions: LiveSessions;
  readonly operators: OperatorsFile;
  /** Servers and name of the database. */
  readonly databaseName: string;
  /** Resolves to why the servers that do not answer do not. */
  readonly findOutages: () => Promise<readonly string[]>;
  /** Returns the certificate that new connections get, which may be newer than that of `config`. */
  readonly readCertificate: () => Certificate | undefined;
}
