/** The dependencies of the console: parts of the API, and its own settings. */
import type { Logger } from 'pino';
import type { Api } from '../../api/api.ts';
import type { RecordCall } from '../../api/calls.ts';
import type { LineSampler } from '../../api/line-sampler.ts';
import type { Exporter } from '../../api/operations/exporter.ts';
import type { Readiness } from '../../api/operations/readiness.ts';
import type { OutageLog } from '../../api/outage-log.ts';
import type { Procedures } from '../../api/procedures.ts';
import type { Database } from '../../database/pool/database.ts';
import type { Call } from '../../domain/core/call.ts';
import type { RowCipher } from '../../domain/crypto/aes-gcm.ts';
import type { ProviderNames } from '../../domain/identities/provider-names.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { LiveSessions } from '../../domain/sessions/live-sessions.ts';
import type { AuthTokens } from '../../domain/tokens/auth-tokens.ts';
import type { Certificate } from '../../http/tls.ts';
import type { PageParts } from '../../login-page/page-parts.ts';
import type { CookieSettings } from './cookies.ts';
import type { OperatorsFile } from './operators-file.ts';
import type { ConsoleConfig } from './settings.ts';

/** The parts that the console shares with the API. */
interface SharedParts {
  readonly admissions: Api['admissions'];
  readonly authPageUrl: string;
  readonly cipher: RowCipher;
  readonly clock: () => Date;
  readonly config: ConsoleConfig;
  readonly database: Database;
  readonly exporter: Exporter;
  readonly liveSessions: LiveSessions;
  readonly logger: Logger;
  readonly notices: Call['notices'];
  readonly onMessage: (applicationId: string) => void;
  readonly pageTokens: PageTokens;
  readonly procedures: Procedures;
  readonly providers: ProviderNames;
  readonly readiness: Readiness;
  readonly recordCall?: RecordCall | undefined;
  readonly requestTimeoutMs: number;
  readonly outages: OutageLog;
  readonly sampler: LineSampler;
  readonly sessionMaxAgeSeconds: number;
  readonly pages: Pick<PageParts, 'signInWays'>;
  readonly tokens: AuthTokens;
}

export interface ConsoleParts extends SharedParts {
  /** The origin of the console in browsers. */
  readonly consoleUrl: string;
  readonly cookies: CookieSettings;
  /** Whether applications can use OpenID Connect, for which Usher needs keys. */
  readonly hasOpenIdConnect: boolean;
  readonly operators: OperatorsFile;
  /** Returns the certificate that new connections get, which may be newer than that of `config`. */
  readonly readCertificate: () => Certificate | undefined;
}
