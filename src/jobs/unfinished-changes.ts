import type { Database } from '../database/pool/database.ts';
import { BY_USHER, withAudit } from '../domain/audit/audit-event.ts';
import type { Call } from '../domain/core/call.ts';
import { listUnfinished, type UnfinishedChange } from '../domain/core/unfinished-changes.ts';
import { isWaiting, takeStep } from '../domain/lifecycle/finish-change.ts';
import { pause } from '../pause.ts';

const INTERVAL_MS = 2_000;
const INTERVAL_AFTER_FAILURE_MS = 10_000;
const BATCH_TIMEOUT_MS = 5_000;
/** How many changes a process goes on with at a time. */
const MAX_CHANGES = 100;

export interface FinishingOptions extends Pick<Call, 'onMessage'> {
  readonly clock: () => Date;
  readonly signal?: AbortSignal;
}

/**
 * Finishes changes that calls have left, until the signal is aborted. Any number of replicas may run it: each part is
 * done by the process that comes first.
 */
export async function runUnfinishedChanges(
  database: Pick<Database, 'within'>,
  { onError, ...options }: FinishingOptions & { readonly signal: AbortSignal; onError(error: unknown): void },
): Promise<void> {
  const { signal } = options;
  while (!signal.aborted) {
    let intervalMs = INTERVAL_MS;
    try {
      await finishChanges(database, options);
    } catch (error) {
      intervalMs = INTERVAL_AFTER_FAILURE_MS;
      onError(error);
    }
    await pause(intervalMs * (0.5 + Math.random()), signal);
  }
}

/** Takes turns with the changes that are due, so that a long one delays no other. One that fails, the next run retries. */
export async function finishChanges(
  database: Pick<Database, 'within'>,
  { clock, signal, onMessage }: FinishingOptions,
): Promise<void> {
  const callNow = (): Call => {
    const now = clock();
    const run = database.within(performance.now() + BATCH_TIMEOUT_MS);
    // The audit log has the calls. It has no event yet of a user who is erased with an invitation.
    return { run: withAudit(run, { ...BY_USHER, action: 'ExpireInvitation', now }), now, onMessage };
  };
  const failures: unknown[] = [];
  let changes: readonly UnfinishedChange[] = [];
  do {
    const due = await listUnfinished(callNow(), MAX_CHANGES - changes.length);
    const all = [...changes, ...due];
    const left: UnfinishedChange[] = [];
    for (const change of all) {
      if (signal?.aborted) return;
      const startedAt = performance.now();
      try {
        const call = callNow();
        const progress = await takeStep(call, change);
        if (progress.change && !isWaiting(call, progress.change)) left.push(progress.change);
      } catch (error) {
        failures.push(error);
      }
      // So that the job uses a connection half of the time.
      await pause(performance.now() - startedAt, signal);
    }
    changes = left;
  } while (changes.length > 0 && failures.length === 0);
  if (failures.length > 0) throw failures[0];
}
