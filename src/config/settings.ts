import { parseAdminKeys } from './admin-rights.ts';
import { DEFAULT_SCHEMA } from './database-url.ts';
import { parseEmailDomains } from './email-domains.ts';
import {
  integerBetween,
  parseBoolean,
  parseDatabaseUrlText,
  parseDirectory,
  parseForeignUrl,
  parseHost,
  parseLoginMethods,
  parseMailFrom,
  parseNetworks,
  parseOneOf,
  parseOrigins,
  parseProxyUrl,
  parsePublicUrl,
  parseSchema,
  parseSessionMaxAge,
  parseSmtpUrl,
  splitList,
} from './parse-setting.ts';
import { parseAdminKey, parseEncryptionKeys } from './secrets.ts';
import { setting, type ValuesOf } from './setting.ts';
import { parseAuthSigningKeys, parseOidcSigningKeys } from './signing-keys.ts';

const WEBHOOK_SETTINGS = {
  webhookDelivery: setting('WEBHOOK_DELIVERY', parseBoolean, '`false`: this process sends no webhooks.', {
    default: true,
  }),
  webhookConcurrency: setting(
    'WEBHOOK_CONCURRENCY',
    integerBetween(1, 4_096),
    'Concurrent attempts to quick endpoints, per process.',
    {
      default: 128,
    },
  ),
  webhookAllowedNetworks: setting(
    'WEBHOOK_ALLOWED_NETWORKS',
    parseNetworks,
    'Internal CIDR ranges, comma-separated, that webhooks may be sent to.',
    { defaultText: 'none; loopback, if embedded' },
  ),
  webhookProxyUrl: setting(
    'WEBHOOK_PROXY_URL',
    parseProxyUrl,
    'HTTP proxy through which webhooks are sent. Then the proxy must refuse internal addresses.',
  ),
  webhooksPerApplication: setting(
    'WEBHOOKS_PER_APPLICATION',
    integerBetween(1, 100_000),
    'How many webhooks an application may have.',
    { default: 1_000 },
  ),
  webhookTimeoutMs: setting('WEBHOOK_TIMEOUT_MS', integerBetween(100, 60_000), 'The longest an attempt may take.', {
    default: 15_000,
  }),
  webhookRetrySchedule: setting(
    'WEBHOOK_RETRY_SCHEDULE',
    (text): readonly number[] => splitList(text).map(integerBetween(0, 604_800)),
    'Seconds before each attempt, comma-separated.',
    {
      default: [0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400],
      defaultText: 'ten attempts in three days',
    },
  ),
  webhookLogDays: setting('WEBHOOK_LOG_DAYS', integerBetween(1, 365), 'Days that deliveries are kept.', {
    default: 14,
  }),
};

const MAX_TIMEOUT_MS = 600_000;
/** With less, a start fails at its first statements. */
const MIN_REQUEST_TIMEOUT_MS = 100;
/** Clients get this long for their first request, so idle connections are kept no shorter. */
const MIN_KEEP_ALIVE_MS = 7_000;
const MAX_KEEP_ALIVE_MS = 86_400_000;

const TIMEOUT_SETTINGS = {
  requestTimeoutMs: setting(
    'REQUEST_TIMEOUT_MS',
    integerBetween(MIN_REQUEST_TIMEOUT_MS, MAX_TIMEOUT_MS),
    'The longest a call may take.',
    {
      default: 5_000,
    },
  ),
  keepAliveTimeoutMs: setting(
    'KEEP_ALIVE_TIMEOUT_MS',
    integerBetween(MIN_KEEP_ALIVE_MS, MAX_KEEP_ALIVE_MS),
    'How long a connection may be idle. It must exceed the idle timeout of a [load balancer](src/http/README.md#behind-a-load-balancer).',
    { default: 75_000 },
  ),
  shutdownDelayMs: setting(
    'SHUTDOWN_DELAY_MS',
    integerBetween(0, MAX_TIMEOUT_MS),
    'How long a shutdown still accepts calls after readiness fails.',
    { default: 0 },
  ),
  shutdownTimeoutMs: setting(
    'SHUTDOWN_TIMEOUT_MS',
    integerBetween(1, MAX_TIMEOUT_MS),
    'How long a shutdown waits for calls in flight.',
    { default: 10_000 },
  ),
};

const MAX_DAYS = 36_500;

const AUDIT_SETTINGS = {
  auditLogDays: setting('AUDIT_LOG_DAYS', integerBetween(1, MAX_DAYS), 'Days that the audit log keeps events.', {
    default: 400,
  }),
  signInLogDays: setting(
    'SIGN_IN_LOG_DAYS',
    integerBetween(1, MAX_DAYS),
    'Days that the audit log keeps sign-ins and renewals; `AUDIT_LOG_DAYS` at most.',
    { default: 90 },
  ),
};

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/** The settings of the core, by the names of their fields in `Config`. Modules have more. */
export const SETTINGS = {
  host: setting('HOST', parseHost, 'Address to listen on.', { isEssential: true, default: '127.0.0.1' }),
  port: setting('PORT', integerBetween(0, 65_535), 'Port to listen on; `0` takes a free one.', {
    isEssential: true,
    default: 8080,
  }),
  publicUrl: setting('PUBLIC_URL', parsePublicUrl, 'URL of Usher for callers; issuer of auth tokens.', {
    isEssential: true,
    defaultText: '`http://localhost:<port>`',
  }),
  databaseUrl: setting('DATABASE_URL', parseDatabaseUrlText, 'Postgres: `postgres://user:password@host/database`.', {
    isEssential: true,
    defaultText: 'embedded Postgres',
  }),
  databaseSchema: setting('DATABASE_SCHEMA', parseSchema, 'Schema of tables.', { default: DEFAULT_SCHEMA }),
  databaseConnections: setting('DATABASE_CONNECTIONS', integerBetween(1, 64), 'Connections per process.', {
    default: 4,
  }),
  migrateOnStart: setting('MIGRATE_ON_START', parseBoolean, '`false` leaves migrations to `npm run migrate`.', {
    default: true,
  }),
  dataDir: setting('DATA_DIR', parseDirectory, 'Directory of embedded Postgres and generated secrets.', {
    default: '.data',
  }),
  adminKey: setting('ADMIN_KEY', parseAdminKey, 'Key of `AdminService`, at least 32 characters.', {
    isEssential: true,
    defaultText: 'generated',
    requiredWith: 'DATABASE_URL',
  }),
  adminKeys: setting(
    'ADMIN_KEYS_FILE',
    parseAdminKeys,
    'More admin keys: `name:key` or `name:key:rights` per line. `ADMIN_KEY` is `admin`.',
    {
      default: [],
      defaultText: 'none',
      isFile: 'secret',
    },
  ),
  authSigningKeys: setting(
    'AUTH_SIGNING_KEYS_FILE',
    parseAuthSigningKeys,
    'Private JWK Set (Ed25519, P-256): the first signs, all verify.',
    { isEssential: true, defaultText: 'generated', isFile: 'secret', requiredWith: 'DATABASE_URL' },
  ),
  oidcSigningKeys: setting(
    'OIDC_SIGNING_KEYS_FILE',
    parseOidcSigningKeys,
    'Private JWK Set (RSA, 2048 bits or more) of OpenID Connect, which is off without it.',
    { isEssential: true, defaultText: 'generated if embedded', isFile: 'secret' },
  ),
  encryptionKeys: setting(
    'ENCRYPTION_KEY_FILE',
    parseEncryptionKeys,
    'Base64 keys of 32 bytes, one per line: the first encrypts, all decrypt.',
    { isEssential: true, defaultText: 'generated', isFile: 'secret', requiredWith: 'DATABASE_URL' },
  ),
  authPageUrl: setting('AUTH_PAGE_URL', parseForeignUrl, 'Where users sign in. When set, Usher has no login page.', {
    defaultText: '`<PUBLIC_URL>/login`',
  }),
  loginMethods: setting(
    'LOGIN_METHODS',
    parseLoginMethods,
    'Sign-in methods of the login page, comma-separated: `wallet`, `email`, `passkey`, IDs of `LOGIN_PROVIDERS_FILE`.',
    {
      isEssential: true,
      defaultText: 'all that work: `email` with `SMTP_URL` or embedded, `passkey` with https or on localhost',
    },
  ),
  blockedEmailDomains: setting(
    'BLOCKED_EMAIL_DOMAINS_FILE',
    parseEmailDomains,
    'Domains, one per line, whose addresses, and those of their sub-domains, cannot sign up. Usher reads the file again when it changes.',
    { default: [], defaultText: 'none', isFile: true },
  ),
  smtpUrl: setting('SMTP_URL', parseSmtpUrl, 'Mail server for login codes: `smtps://user:password@host`.', {
    isEssential: true,
    defaultText: 'the terminal, if embedded',
    requiredWith: 'MAIL_FROM',
  }),
  mailFrom: setting('MAIL_FROM', parseMailFrom, 'Sender of the e-mails.', {
    isEssential: true,
    requiredWith: 'SMTP_URL',
  }),
  sessionMaxAgeSeconds: setting(
    'SESSION_MAX_AGE',
    parseSessionMaxAge,
    'How long sessions can be renewed after the sign-in: seconds, or a number with `m`, `h` or `d`.',
    { default: 43_200, defaultText: '`12h`' },
  ),
  ...AUDIT_SETTINGS,
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    parseNetworks,
    'Addresses or CIDR ranges, comma-separated, whose `X-Forwarded-For` Usher trusts.',
    { isEssential: true, default: [], defaultText: 'none' },
  ),
  corsOrigins: setting('CORS_ORIGINS', parseOrigins, 'Origins, comma-separated, whose pages may call the API.', {
    default: [],
    defaultText: 'none',
  }),
  metricsPort: setting('METRICS_PORT', integerBetween(0, 65_535), 'Port of `/metrics` for Prometheus.', {
    isEssential: true,
    requiredWith: 'METRICS_HOST',
  }),
  metricsHost: setting('METRICS_HOST', parseHost, 'Address of `/metrics`. Keep it off the internet.', {
    isEssential: true,
    default: '127.0.0.1',
  }),
  logLevel: setting('LOG_LEVEL', parseOneOf(LOG_LEVELS), `\`${LOG_LEVELS.join('`, `')}\`.`, { default: 'info' }),
  ...TIMEOUT_SETTINGS,
  ...WEBHOOK_SETTINGS,
  tlsCert: setting('TLS_CERT_FILE', String, 'Certificate in PEM. With it Usher serves TLS.', {
    isFile: true,
    requiredWith: 'TLS_KEY_FILE',
  }),
  tlsKey: setting('TLS_KEY_FILE', String, 'Private key in PEM.', { isFile: 'secret', requiredWith: 'TLS_CERT_FILE' }),
};

export type SettingValues = ValuesOf<typeof SETTINGS>;
