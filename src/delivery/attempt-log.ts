import type { Run } from '../database/pool/database.ts';
import { p, statement } from '../database/sql/template.ts';
import { findUserOf, removeBodiesOfErased } from '../domain/users/response-bodies.ts';
import type { EndedAttempt } from './delivery-state.ts';

export async function logAttempts(
  run: Run,
  ids: { readonly applicationId: string; readonly webhookId: string },
  completed: readonly EndedAttempt[],
): Promise<void> {
  if (completed.length === 0) return;
  const attempts = completed.map(toLoggedAttempt);
  await run(insertAttempts, { ...ids, attempts });
  // An erasure that ran concurrently has not seen the inserted response bodies.
  const userIds = attempts.flatMap(({ user_id }) => user_id ?? []);
  if (userIds.length > 0) await run(removeBodiesOfErased, { ...ids, userIds });
}

/** Returns the row of an attempt, with the column names as keys. */
function toLoggedAttempt({ delivery, at, durationMs, outcome }: EndedAttempt) {
  return {
    message_id: delivery.messageId,
    attempted_at: at,
    duration_ms: durationMs,
    status_code: outcome.statusCode,
    error: outcome.error,
    response_body: outcome.responseBody,
    user_id: outcome.responseBody ? findUserOf(delivery) : null,
  };
}

const insertAttempts = statement('insert_attempts')`
  insert into webhook_attempts
    (application_id, webhook_id, message_id, attempted_at, duration_ms, status_code, error, response_body, user_id)
  select ${p.uuid('applicationId')}, ${p.text('webhookId')}, attempt.*
  from json_to_recordset(${p.json('attempts')}) as attempt (message_id bigint, attempted_at timestamptz,
    duration_ms integer, status_code smallint, error text, response_body text, user_id uuid)
  -- A write that returns no rows would wait for a later commit: see PrimaryLease.
  returning id`;
