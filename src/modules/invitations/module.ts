/** Invitations: the calls that invite, and the job that removes invitations that nobody has accepted in time. */
import { BY_USHER, withAudit } from '../../domain/audit/audit-event.ts';
import { pause } from '../../pause.ts';
import type { Core, Module } from '../module.ts';
import { createInvitationRpcs } from './create-rpcs.ts';
import { expireInvitations } from './domain/expire-invitations.ts';

const INTERVAL_MS = 60_000;
const TIMEOUT_MS = 5_000;

export const invitationsModule: Module = {
  name: 'invitations',
  settings: {},
  createRpcs: (_config, parts) => createInvitationRpcs(parts),
  async open(_config, core) {
    const stopping = new AbortController();
    const job = runExpiry(core, AbortSignal.any([core.closing, stopping.signal]));
    return {
      async [Symbol.asyncDispose]() {
        stopping.abort();
        await job;
      },
    };
  },
};

/** Withdraws expired invitations about once a minute until the signal is aborted. Any number of replicas may run it. */
async function runExpiry({ clock, database, logger }: Core, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // Jitter, so that replicas that started together do not look together.
    await pause(INTERVAL_MS * (0.5 + Math.random()), signal);
    let isMore = true;
    while (isMore && !signal.aborted) {
      const now = clock();
      const run = withAudit(database.within(performance.now() + TIMEOUT_MS), {
        ...BY_USHER,
        action: 'ExpireInvitation',
        now,
      });
      isMore = await expireInvitations({ run, now }).catch((err: unknown) => {
        logger.warn({ err }, 'invitations not expired');
        return false;
      });
    }
  }
}
