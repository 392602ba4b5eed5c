import { parseAdminKeys } from './admin-rights.ts';
import { AUDIT_SETTINGS } from './audit-settings.ts';
import { DEFAULT_SCHEMA } from './database-url.ts';
import { parseEmailDomains } from './email-domains.ts';
import {
  integerBetween,
  parseBoolean,
  parseDatabaseUrlText,
  parseDirectory,
  parseForeignUrl,
  parseHost,
  parseIssuer,
  parseLoginMethods,
  parseMailFrom,
  parseNetworks,
  parseOneOf,
  parseOrigins,
  parsePublicUrl,
  parseSchema,
  parseSessionMaxAge,
  parseSmtpUrl,
} from './parse-setting.ts';
import { parseAdminKey, parseEncryptionKeys } from './secrets.ts';
import { setting, type ValuesOf } from './setting.ts';
import { parseAuthSigningKeys, parseOidcSigningKeys } from './signing-keys.ts';
import { TIMEOUT_SETTINGS } from './timeout-settings.ts';
import { WEBHOOK_SETTINGS } from './webhook-settings.ts';

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
      isFile: true,
    },
  ),
  authSigningKeys: setting(
    'AUTH_SIGNING_KEYS_FILE',
    parseAuthSigningKeys,
    'Private JWK Set (Ed25519, P-256): the first signs, all verify.',
    { isEssential: true, defaultText: 'generated', isFile: true, requiredWith: 'DATABASE_URL' },
  ),
  oidcSigningKeys: setting(
    'OIDC_SIGNING_KEYS_FILE',
    parseOidcSigningKeys,
    'Private JWK Set (RSA, 2048 bits or more) of OpenID Connect, which is off without it.',
    { isEssential: true, defaultText: 'generated if embedded', isFile: true },
  ),
  encryptionKeys: setting(
    'ENCRYPTION_KEY_FILE',
    parseEncryptionKeys,
    'Base64 keys of 32 bytes, one per line: the first encrypts, all decrypt.',
    { isEssential: true, defaultText: 'generated', isFile: true, requiredWith: 'DATABASE_URL' },
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
  issuer: setting('AUTH_ISSUER', parseIssuer, 'Another issuer whose auth tokens Usher accepts.', {
    requiredWith: 'AUTH_JWKS_URL',
  }),
  jwksUrl: setting('AUTH_JWKS_URL', parseForeignUrl, 'JWK Set of `AUTH_ISSUER`.', { requiredWith: 'AUTH_ISSUER' }),
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
  tlsKey: setting('TLS_KEY_FILE', String, 'Private key in PEM.', { isFile: true, requiredWith: 'TLS_CERT_FILE' }),
};

export type SettingValues = ValuesOf<typeof SETTINGS>;
