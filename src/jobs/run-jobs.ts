import type { Logger } from 'pino';
import type { Config } from '../config/config.ts';
import type { Database } from '../database/database.ts';
import { ClockSkewError, type DatabaseClock } from '../database/database-clock.ts';
import type { SigningKeyCipher } from '../domain/webhooks/signing-key-cipher.ts';
import type { Certificate } from '../http/tls.ts';
import { runCertificateRenewal } from './certificate-renewal.ts';
import { runClockJob } from './clock.ts';
import { type ExpiryOptions, runExpiryJob } from './expiry.ts';
import { runKeyRotation } from './key-rotation.ts';

export interface JobParts extends Pick<ExpiryOptions, 'signal' | 'onRemoved'> {
  readonly cipher: SigningKeyCipher;
  readonly database: Database;
  readonly logger: Logger;
  readonly setCertificate: (certificate: Certificate) => void;
  readonly time: Pick<DatabaseClock, 'measure' | 'readForDeletion'>;
  readonly usedKeyIds: ReadonlySet<string>;
}

/** Runs the background jobs of a process until the signal is aborted. */
export async function runJobs(
  { tls, webhookLogDays }: Pick<Config, 'tls' | 'webhookLogDays'>,
  { cipher, database, logger, onRemoved, setCertificate, signal, time, usedKeyIds }: JobParts,
): Promise<void> {
  const jobs = [
    runClockJob(time, signal),
    runExpiryJob(database, {
      clock: time.readForDeletion,
      signal,
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
  if (tls) {
    const renewal = runCertificateRenewal(tls, {
      signal,
      use: setCertificate,
      onRenewed: (validTo) => logger.info({ validTo }, 'certificate renewed'),
      onError: (error) => logger.error({ err: error }, 'certificate not renewed'),
    });
    jobs.push(renewal);
  }
  await Promise.all(jobs);
}
