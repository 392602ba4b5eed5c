import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import { parseEmailDomains } from '../config/email-domains.ts';
import { parseLoginProviders } from '../config/login-providers.ts';
import type { Database } from '../database/database.ts';
import { ClockSkewError, type DatabaseClock } from '../database/database-clock.ts';
import type { SignUpRules } from '../domain/login/sign-up-rules.ts';
import type { LoginProviders } from '../domain/providers/login-providers.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';
import type { Certificate } from '../http/tls.ts';
import type { OpenNotices } from '../mail/open-mail.ts';
import { runCertificateRenewal } from './certificate-renewal.ts';
import { runClockJob } from './clock.ts';
import { type ExpiryOptions, runExpiryJob } from './expiry.ts';
import { runKeyRotation } from './key-rotation.ts';
import { watchFiles } from './watch-files.ts';

export interface JobParts extends Pick<ExpiryOptions, 'signal' | 'onRemoved'> {
  readonly cipher: SigningKeyCipher;
  readonly database: Database;
  readonly logger: Logger;
  readonly notices: OpenNotices | undefined;
  readonly setCertificate: (certificate: Certificate) => void;
  readonly providers: LoginProviders;
  readonly signUps: SignUpRules;
  readonly time: Pick<DatabaseClock, 'measure' | 'readForDeletion'>;
  readonly usedKeyIds: ReadonlySet<string>;
}

/** Runs the background jobs of a process until the signal is aborted. */
export async function runJobs(
  {
    auditLogDays,
    blockedEmailDomainsFile,
    loginProvidersFile,
    signInLogDays,
    tls,
    webhookLogDays,
  }: Pick<
    Config,
    'auditLogDays' | 'blockedEmailDomainsFile' | 'loginProvidersFile' | 'signInLogDays' | 'tls' | 'webhookLogDays'
  >,
  {
    cipher,
    database,
    logger,
    notices,
    onRemoved,
    providers,
    setCertificate,
    signal,
    signUps,
    time,
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
    runKeyRotation(database, cipher, {
      usedAtStart: usedKeyIds,
      signal,
      onStatusChange: (keyId, status) => logger.info({ keyId }, `encryption key ${status}`),
      onError: (error) => logger.warn({ err: error }, 're-encryption failed'),
    }),
  ];
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
  if (loginProvidersFile) {
    const watch = watchFiles([loginProvidersFile], {
      signal,
      use: (text = '') => providers.replace(parseLoginProviders(text)),
      onUsed: () => logger.info('login providers read again'),
      onError: (error) => logger.error({ err: error }, 'login providers not read again'),
    });
    jobs.push(watch);
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
