import { randomUUID } from 'node:crypto';
import { and, eq, getTableColumns, gt, not, notExists, sql } from 'drizzle-orm';
import { type PgColumn, unionAll } from 'drizzle-orm/pg-core';
import { type Db, matches, type Statement } from '../../database/database.ts';
import { instantPlaceholder, users } from '../../database/schema.ts';
import { applicationUsers, sessionIds, sessions } from '../../database/session-schema.ts';
import { insertAuditEvent } from '../audit/audit-event.ts';
import type { ApplicationCall } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { AuthTokens } from '../login/auth-tokens.ts';
import { InvalidTokenError } from '../login/verify-token.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { isActiveUser, type Profile } from '../users/user.ts';
import { check, textOfBytes, type Unchecked } from '../validation.ts';
import { announce, type HasMessages, hasSubscriber, insertMessages, notifiedIds } from '../webhooks/insert-message.ts';
import { sessionCreated } from '../webhooks/user-messages.ts';
import { latestCutoff } from './cutoffs.ts';
import { endLateSession } from './late-sessions.ts';
import { type Peer, SESSION_LIFETIME_MS } from './session.ts';
import { isOutdated, updateSignIn } from './update-sign-in.ts';

const rules = { authToken: textOfBytes(8192) };

interface ExchangeParts {
  readonly tokens: AuthTokens;
  readonly sessionMaxAgeSeconds: number;
  /** The applications whose last session was told to a webhook. */
  readonly subscribed?: Set<string>;
}

/** A session, with the user's profile as it was when the session began. */
export interface BegunSession extends Profile {
  readonly id: string;
  readonly createdAt: Date;
}

/**
 * Returns the newest live session of the user, or begins one. A token of a later sign-in makes the session one of it.
 *
 * @throws ServiceError `Invalid or expired token`, also for one from before a cut-off; `User not found`
 */
export async function exchangeToken(
  call: ApplicationCall,
  { tokens, sessionMaxAgeSeconds, subscribed = new Set() }: ExchangeParts,
  peer: Peer,
  request: Unchecked<keyof typeof rules>,
): Promise<BegunSession> {
  const { application, run, now, onMessage, onWait } = call;
  const { authToken } = check(request, rules);
  const login = await tokens.verify(authToken, application.clientId, now, onWait);
  const maxAgeMs = (application.sessionMaxAgeSeconds ?? sessionMaxAgeSeconds) * 1_000;
  const endsAt = Math.min(now.getTime() + SESSION_LIFETIME_MS, login.authenticatedAt.getTime() + maxAgeMs);
  const parameters = {
    ...login,
    ...peer,
    applicationId: application.id,
    id: randomUUID(),
    now,
    expiresAt: new Date(endsAt),
  };
  for (let tells = subscribed.has(application.id); ; tells = true) {
    const [user] = await run(tells ? findOrBeginSessionAndTell : findOrBeginSession, parameters);
    if (!user) throw new ServiceError('USER_NOT_FOUND');
    if (!user.isAccepted) throw new InvalidTokenError();
    const { session, notifiedIds } = user;
    if (session?.isOutdated) await run(updateSignIn, { ...parameters, sessionId: session.id });
    // A webhook subscribes to it, or a concurrent exchange has begun one.
    if (!session || session.isOutdated) continue;
    announce(onMessage, user);
    if (notifiedIds.length > 0) subscribed.add(application.id);
    else if (session.id === parameters.id) subscribed.delete(application.id);
    const late = session.id === parameters.id ? await endLateSession(call, { ...parameters, leaves: true }) : undefined;
    if (!late) return session;
    if (late.isOfErased) await removeIfErased(call, login.userId);
    // The token is refused now.
  }
}

interface Found extends HasMessages {
  /** Whether the token is from after the cut-offs of the user's sessions. */
  readonly isAccepted: boolean;
  readonly session: (BegunSession & { readonly isOutdated: boolean }) | null;
}

/** Begins no session if a webhook subscribes to it. An insert of messages is dear even where it has no rows. */
const findOrBeginSession: Statement<Found[]> = (db) =>
  findOrBegin(db, { tells: false }).prepare('find_or_begin_session');
const findOrBeginSessionAndTell: Statement<Found[]> = (db) =>
  findOrBegin(db, { tells: true }).prepare('find_or_begin_session_and_tell');

/**
 * A live session is only read. Otherwise the row of the application and user is inserted or overwritten. Of concurrent
 * exchanges the first wins: the others begin none, because under the row lock they find a session that is not over.
 */
function findOrBegin(db: Db, { tells }: { tells: boolean }) {
  const applicationId = sql`${sql.placeholder('applicationId')}::uuid`;
  const id = sql`${sql.placeholder('id')}::uuid`;
  const now = sql`${instantPlaceholder('now')}::timestamptz`;
  const authenticatedAt = sql`${instantPlaceholder('authenticatedAt')}::timestamptz`;
  const shown = pickShown(getTableColumns(sessions));
  const { userId, expiresAt, ipAddress, userAgent, method } = sessions;

  // Read before the cut-offs: on Citus each part sees what was committed before it. A revocation in between would else
  // remove the session, and another begin that the revocation has ended.
  const live = db.$with('live').as(
    db
      .select({ ...shown, authenticatedAt: sessions.authenticatedAt, isOutdated: isOutdated.as('outdated') })
      .from(sessions)
      .where(and(matches(sessions, 'applicationId', 'userId'), gt(sessions.expiresAt, instantPlaceholder('now')))),
  );
  const caller = db.$with('caller').as(
    db
      .select({
        userId: users.id,
        email: users.email,
        name: users.name,
        profileImage: users.profileImage,
        walletAddress: users.walletAddress,
        latestCutoff: latestCutoff(users.id).as('latest_cutoff'),
      })
      .from(users)
      .where(and(eq(users.id, sql.placeholder('userId')), isActiveUser)),
  );
  const isAccepted = sql<boolean>`${instantPlaceholder('authenticatedAt')} > ${caller.latestCutoff}`;
  const isLive = gt(live.authenticatedAt, caller.latestCutoff);
  const begun = db.$with('begun').as(
    db
      .insert(sessions)
      .select(
        db
          .select({
            applicationId: applicationId.as('application_id'),
            userId: caller.userId,
            id: id.as('session_id'),
            email: caller.email,
            name: caller.name,
            profileImage: caller.profileImage,
            walletAddress: caller.walletAddress,
            ipAddress: sql`${sql.placeholder('ipAddress')}::text`.as('ip_address'),
            userAgent: sql`${sql.placeholder('userAgent')}::text`.as('user_agent'),
            method: sql`${sql.placeholder('method')}::text`.as('method'),
            authenticatedAt: authenticatedAt.as('authenticated_at'),
            lastAuthenticatedAt: sql`null::timestamptz`.as('last_authenticated_at'),
            beganAt: now.as('began_at'),
            cutoffAt: caller.latestCutoff,
            createdAt: now.as('created_at'),
            expiresAt: sql`${instantPlaceholder('expiresAt')}::timestamptz`.as('expires_at'),
          })
          .from(caller)
          .where(
            and(
              isAccepted,
              notExists(db.select({ one: sql`1` }).from(live).where(isLive)),
              tells ? undefined : not(hasSubscriber('session.created', applicationId)),
            ),
          ),
      )
      .onConflictDoUpdate({ target: [sessions.applicationId, sessions.userId], set: newValues, setWhere: isOver })
      .returning({ ...shown, userId, expiresAt, ...(tells && { ipAddress, userAgent, method }) }),
  );
  const recorded = db.$with('recorded', {}).as(sql`
    insert into ${sessionIds} (application_id, id, user_id, authenticated_at, created_at, expires_at)
    select ${applicationId}, id, user_id, ${authenticatedAt}, created_at, expires_at from begun`);
  const joined = db.$with('joined', {}).as(sql`
    insert into ${applicationUsers} (application_id, user_id, first_signed_in_at)
    select ${applicationId}, user_id, created_at from begun on conflict do nothing`);
  const audit = insertAuditEvent(db, { resource: sql`user_id`, from: sql`${begun}` });
  const message = tells ? [insertMessages(db, sessionCreated(sql`${begun}`))] : [];
  const session = unionAll(
    db
      .select({ ...pickShown(live), isOutdated: live.isOutdated })
      .from(live)
      .innerJoin(caller, isLive),
    db.select({ ...pickShown(begun), isOutdated: sql<boolean>`false` }).from(begun),
  ).as('session');
  return db
    .with(live, caller, begun, audit, recorded, joined, ...message)
    .select({
      isAccepted,
      session: { ...pickShown(session), isOutdated: session.isOutdated },
      notifiedIds: tells ? notifiedIds : sql<readonly string[]>`'[]'::json`,
    })
    .from(caller)
    .leftJoin(session, sql`true`);
}

const excluded = ({ name }: PgColumn) => sql`excluded.${sql.identifier(name)}`;

const { applicationId: _, userId: __, ...replaced } = getTableColumns(sessions);
const newValues = Object.fromEntries(Object.entries(replaced).map(([name, column]) => [name, excluded(column)]));

/** The opposite of `live`: the session has expired or been ended by a cut-off. */
const isOver = sql`not (${sessions.expiresAt} > ${excluded(sessions.createdAt)}
  and ${sessions.authenticatedAt} > ${excluded(sessions.cutoffAt)})`;

function pickShown<Columns extends Record<keyof BegunSession, unknown>>(columns: Columns) {
  const { id, email, name, profileImage, walletAddress, createdAt } = columns;
  return { id, email, name, profileImage, walletAddress, createdAt } as Pick<Columns, keyof BegunSession>;
}
