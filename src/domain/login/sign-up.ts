import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { BY_POSTGRES } from '../../database/instants.ts';
import { p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import type { AuthTokens } from './auth-tokens.ts';
import {
  answerLogin,
  COMPLETED_INTENT,
  type Completion,
  completedColumns,
  completedIntent,
  type HowSignedIn,
} from './complete-login.ts';

/**
 * Creates a user and completes the login, both or neither. Returns undefined if another user has the e-mail or wallet
 * address, or if the intent is not open.
 */
export async function signUp(
  { run, now, count }: Call,
  tokens: AuthTokens,
  loginIntentId: string,
  user: { email: string; name: string | null; walletAddress: string },
  how: HowSignedIn,
): Promise<(Completion & { userId: string }) | undefined> {
  const userId = randomUUID();
  const [intent] = await run(insertUserAndComplete, { ...user, ...how, ...BY_POSTGRES, userId, loginIntentId, now });
  if (!intent) return undefined;
  count?.('sign_ins');
  count?.('sign_ups');
  const answer = await answerLogin(tokens, { ...intent, ...how, loginIntentId, userId });
  return { userId, ...answer };
}

const insertUserAndComplete = statement('sign_up', COMPLETED_INTENT)`
  with open as (
    -- Locked, so that the second request of a double click waits here and creates no user.
    select i.id from login_intents i join applications a on a.id = i.application_id
    where i.id = ${p.uuid('loginIntentId')} and i.completed_at is null and i.expires_at > ${p.instant('now')}
      and a.deleted_at is null and a.allow_sign_up
    for update of i
  ), created as (
    insert into users (id, email, name, wallet_address, created_at)
    select ${p.uuid('userId')}, ${p.text('email')}, ${p.text('name')}, ${p.text('walletAddress')}, ${p.instant('now')}
    from open on conflict do nothing returning id
  ), ${completedIntent({ condition: sql`exists (select 1 from created)` })}
  select ${completedColumns} from completed`;
