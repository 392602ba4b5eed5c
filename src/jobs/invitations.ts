import type { Database } from '../database/pool/database.ts';
import { BY_USHER, withAudit } from '../domain/audit/audit-event.ts';
import { expireInvitations } from '../domain/invitations/expire-invitations.ts';
import { pause } from '../pause.ts';

const INTERVAL_MS = 60_000;
const TIMEOUT_MS = 5_000;

interface InvitationOptions {
  readonly clock: () => Date;
  readonly signal: AbortSignal;
  onError(error: unknown): void;
}

/** Withdraws expired invitations about once a minute until the signal is aborted. Any number of replicas may run it. */
export async function runInvitationExpiry(
  database: Pick<Database, 'within'>,
  { clock, signal, onError }: InvitationOptions,
): Promise<void> {
  while (!signal.aborted) {
    // Jitter, so that replicas that started together do not look together.
    await pause(INTERVAL_MS * (0.5 + Math.random()), signal);
    let isMore = true;
    while (isMore && !signal.aborted) {
      const now = clock();
      const audit = { ...BY_USHER, action: 'ExpireInvitation', now };
      const run = withAudit(database.within(performance.now() + TIMEOUT_MS), audit);
      isMore = await expireInvitations({ run, now }).catch((error: unknown) => {
        onError(error);
        return false;
      });
    }
  }
}
