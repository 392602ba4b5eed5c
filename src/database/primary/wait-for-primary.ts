import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientTarget, type DatabaseServer, describeServer } from '../connection/open-client.ts';
import { describeFailure } from '../connection/start-failure.ts';
import { PostgresError } from '../sql/driver.ts';
import { ConnectionFailedError, StandbyError } from '../sql/errors.ts';
import { PrimaryFinder } from './primary-finder.ts';

export interface WaitOptions {
  readonly timeoutMs: number;
  /** Called with each new reason to wait. */
  readonly onWait: ((reason: string) => void) | undefined;
  /** Called often with what is done now, in a sentence without its full stop. */
  readonly onProgress?: ((step: string) => void) | undefined;
}

const PAUSE_MS = 200;

/** Waits until there is a primary: a server may be starting, or about to become the primary. */
export async function waitForPrimary(
  target: ClientTarget,
  { timeoutMs, onWait, onProgress }: WaitOptions,
): Promise<DatabaseServer> {
  const waitUntil = performance.now() + timeoutMs;
  using finder = new PrimaryFinder(target);
  for (const reported = new Set<string>(); ; await sleep(PAUSE_MS)) {
    try {
      return await finder.search();
    } catch (error) {
      if (!mayRecover(error)) throw error;
      const reason =
        error instanceof StandbyError ? `${error.message}, and there is no primary` : describeFailure(error);
      if (!reported.has(reason)) onWait?.(reason);
      reported.add(reason);
      const place = target.servers.map(describeServer).join(', ');
      onProgress?.(`Waiting for Postgres at ${place}, and trying again: ${reason}`);
      if (performance.now() > waitUntil) throw error;
    }
  }
}

/** Returns whether there may soon be a primary. A wrong password, database or certificate needs an operator. */
function mayRecover(error: unknown): boolean {
  if (error instanceof ConnectionFailedError) return true;
  if (error instanceof PostgresError) return error.code.startsWith('57P');
  return isNetworkError(error) && /^(CONNECT|E(?!RR_|ACCES|PERM))/.test(String(error.code));
}

/** Returns whether the server could not be reached. */
export function isNetworkError(error: unknown): error is Error & { code: unknown } {
  return error instanceof Error && !(error instanceof PostgresError) && 'code' in error;
}
