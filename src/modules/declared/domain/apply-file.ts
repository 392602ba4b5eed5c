/** Applies a file in one transaction: all of it, or nothing. */
import type { Database } from '../../../database/pool/database.ts';
import { NO_APPLICATION } from '../../../database/schema/audit-schema.ts';
import { isSerializationFailure } from '../../../database/sql/errors.ts';
import { p, statement, t } from '../../../database/sql/template.ts';
import { withAudit } from '../../../domain/audit/audit-event.ts';
import type { Call } from '../../../domain/core/call.ts';
import { type ApplicationsFile, toFileError } from '../parse-applications-file.ts';
import { findSteps } from './find-steps.ts';
import { type AppliedFile, readAppliedFile, readState } from './read-state.ts';

/** The first import of a file of 1 MiB takes seconds, and on a busy cluster minutes. Nobody else waits for it. */
const DEADLINE_MS = 5 * 60_000;
/** So many digits of the digest are the actor in the audit log. */
const ACTOR_DIGITS = 12;

/** What the file is, compared with the one that was applied last. */
export type Standing = 'same' | 'new' | 'older' | 'different' | 'without revision';

/** With revisions, an old replica that restarts does not roll back what a newer one has applied. */
export function compareFile(
  { digest, revision }: Pick<ApplicationsFile, 'digest' | 'revision'>,
  applied: AppliedFile | undefined,
): Standing {
  if (!applied) return 'new';
  if (digest === applied.digest) return 'same';
  if (applied.revision === null) return 'new';
  if (revision === null) return 'without revision';
  if (revision === applied.revision) return 'different';
  // Equivalent: comparison: equal ones are above
  return revision > applied.revision ? 'new' : 'older';
}

type ApplyCall = Pick<Call, 'now'> & { readonly onMessage: (applicationId: string) => void };

/** @throws ApplicationsFileError if the database does not allow the file, DatabaseUnavailableError */
export async function applyFile(
  database: Pick<Database, 'transact'>,
  file: ApplicationsFile,
  call: ApplyCall,
): Promise<Standing> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    try {
      return await applyOnce(database, file, deadline, call);
    } catch (error) {
      // It has locked many rows, so it and another statement may wait for each other. Postgres ends one of them.
      if (!isSerializationFailure(error)) throw error;
    }
  }
}

async function applyOnce(
  database: Pick<Database, 'transact'>,
  file: ApplicationsFile,
  deadline: number,
  { now, onMessage }: ApplyCall,
): Promise<Standing> {
  const notified = new Set<string>();
  const of = { applicationId: NO_APPLICATION, deadline, lock: 'applications file' };
  const standing = await database.transact(of, async (run) => {
    await run(lockFile, {});
    const standing = compareFile(file, await readAppliedFile(run));
    if (standing !== 'new') return standing;
    const actor = {
      actorType: 'file',
      actor: file.digest.slice(0, ACTOR_DIGITS),
      ipAddress: '',
      requestId: '',
    } as const;
    for (const { label, action, ...step } of findSteps(file, await readState(run, file))) {
      const audited = withAudit(run, { ...actor, action, now });
      const add = (applicationId: string) => void notified.add(applicationId);
      await step.run({ run: audited, now, onMessage: add, isUncommitted: true }).catch((error: unknown) => {
        throw toFileError(label, error);
      });
    }
    await run(storeFile, { digest: file.digest, revision: file.revision, now });
    return standing;
  });
  for (const applicationId of notified) onMessage(applicationId);
  return standing;
}

/** Replicas that start together apply their files one after the other. */
const lockFile = statement('lock_declared_file', { isLocked: t.boolean })`
  select pg_advisory_xact_lock(hashtextextended(current_schema() || ' applications file', 0)) is not null as is_locked`;

const storeFile = statement('store_declared_file')`
  insert into declared_files (id, digest, revision, applied_at)
  values (1, ${p.text('digest')}, ${p.integer('revision')}, ${p.instant('now')})
  on conflict (id) do update set digest = excluded.digest, revision = excluded.revision, applied_at = excluded.applied_at`;

/** Ten applications that have left the file, for operators to see. */
export const selectGone = statement('select_gone_applications', { clientId: t.text })`
  select client_id from applications
  where declared_by_file = false and deleted_at is null order by client_id limit 10`;
