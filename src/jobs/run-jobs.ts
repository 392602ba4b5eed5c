import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { type Config, isKeyPair } from '../config/config.ts';
import { parseEmailDomains } from '../config/email-domains.ts';
import type { Database } from '../database/pool/database.ts';
import { ClockSkewError, type DatabaseClock } from '../domain/core/database-clock.ts';
import type { RowCipher } from '../domain/crypto/aes-gcm.ts';
import type { EncryptionKeys } from '../domain/crypto/encryption-keys.ts';
import type { SignUpRules } from '../domain/login/sign-up-rules.ts';
import type { AuthTokens } from '../domain/tokens/auth-tokens.ts';
import type { Certificate } from '../http/tls.ts';
import type { OpenNotices } from '../mail/open-mail.ts';
import { pause } from '../pause.ts';
import { type ExpiryOptions, runExpiryJob } from './expiry.ts';
import { runInvitationExpiry } from './invitations.ts';
import { runKeyRotations } from './key-rotation.ts';
import { runUnfinishedChanges } from './unfinished-changes.ts';
import { watchFiles } from './watch-files.ts';
import { watchKeys } from './watch-keys.ts';

export interface JobParts extends Pick<ExpiryOptions, 'signal' | 'onRemoved'> {
  readonly cipher: RowCipher;
  readonly database: Database;
  readonly encryptionKeys: EncryptionKeys;
  readonly logger: Logger;
  readonly notices: OpenNotices | undefined;
  readonly onMessage: (applicationId: string) => void;
  readonly setCertificate: (certificate: Certificate) => void;
  readonly signUps: SignUpRules;
  readonly time: Pick<DatabaseClock, 'measure' | 'read' | 'readForDeletion'>;
  readonly tokens: AuthTokens;
  readonly usedKeyIds: ReadonlySet<string>;
}

/** Runs the background jobs of a process until the signal is aborted. */
export async function runJobs(
  {
    auditLogDays,
    blockedEmailDomainsFile,
    keyFiles,
    signInLogDays,
    tls,
    webhookLogDays,
  }: Pick<Config, 'auditLogDays' | 'blockedEmailDomainsFile' | 'keyFiles' | 'signInLogDays' | 'tls' | 'webhookLogDays'>,
  {
    cipher,
    database,
    encryptionKeys,
    logger,
    notices,
    onMessage,
    onRemoved,
    setCertificate,
    signal,
    signUps,
    time,
    tokens,
    usedKeyIds,
  }: JobParts,
): Promise<void> {
  const jobs = [
    runClockJob(time, signal),
    runExpiryJob(database, {
      clock: time.readForDeletion,
      signal,
      auditLogDays,
      signInLogDays,
      webhookLogDays,
      onRemoved,
      onError: (error) =>
        logger[error instanceof ClockSkewError ? 'error' : 'warn']({ err: error }, 'expiry job failed'),
    }),
    runUnfinishedChanges(database, {
      clock: time.read,
      signal,
      onMessage,
      onError: (error) => logger.warn({ err: error }, 'changes not finished'),
    }),
    runInvitationExpiry(database, {
      clock: time.read,
      signal,
      onError: (error) => logger.warn({ err: error }, 'invitations not expired'),
    }),
    runKeyRotations(
      database,
      { cipher, encryptionKeys },
      {
        usedAtStart: usedKeyIds,
        signal,
        onStatusChange: (keyId, status) => logger.info({ keyId }, `encryption key ${status}`),
        onError: (error) => logger.warn({ err: error }, 're-encryption failed'),
      },
    ),
  ];
  jobs.push(watchKeys(keyFiles, { database, encryptionKeys, logger, signal, tokens }));
  if (notices) jobs.push(notices.run(signal));
  if (tls) {
    const renewal = runCertificateRenewal(tls, {
      signal,
      use: setCertificate,
      onRenewed: (validTo) => logger.info({ validTo }, 'certificate renewed'),
      onError: (error) => logger.error({ err: error }, 'certificate not renewed'),
    });
    jobs.push(renewal);
  }
  if (blockedEmailDomainsFile) {
    const watch = watchFiles([blockedEmailDomainsFile], {
      signal,
      use: (text = '') => signUps.replace(parseEmailDomains(text)),
      onUsed: () => logger.info('blocked e-mail domains read again'),
      onError: (error) => logger.error({ err: error }, 'blocked e-mail domains not read again'),
    });
    jobs.push(watch);
  }
  await Promise.all(jobs);
}

const INTERVAL_MS = 1_000;
const TIMEOUT_MS = 1_000;

/** Measures the clock of Postgres every second. While Postgres is unavailable, earlier measurements apply. */
export async function runClockJob(clock: Pick<DatabaseClock, 'measure'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(INTERVAL_MS, signal);
    await clock.measure(performance.now() + TIMEOUT_MS).catch(() => {});
  }
}

/** Loads renewed certificates without a restart. */
interface CertificateRenewalOptions {
  readonly signal: AbortSignal;
  /** Throws if the certificate cannot be used. */
  readonly use: (certificate: Certificate) => void;
  readonly onRenewed: (validTo: string) => void;
  /** Called if the new certificate cannot be used. The previous one stays in use. */
  readonly onError: (error: unknown) => void;
}

/** Calls `use` with the certificate whenever its files change, until the signal is aborted. */
async function runCertificateRenewal(
  { cert, key, files }: NonNullable<Config['tls']>,
  { signal, use, onRenewed, onError }: CertificateRenewalOptions,
): Promise<void> {
  if (!files) return;
  await watchFiles([files.cert, files.key], {
    signal,
    seen: [cert, key],
    use(newCert = '', newKey = '') {
      const renewed = { cert: newCert, key: newKey };
      if (!isKeyPair(renewed)) throw new Error('The files hold no certificate with its key');
      use(renewed);
      onRenewed(new X509Certificate(newCert).validTo);
    },
    onError,
  });
}
