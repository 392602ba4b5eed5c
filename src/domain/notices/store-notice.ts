/**
 * Notices: e-mails that tell users of a change to their account, because somebody else may have made it. The statement
 * that makes the change stores its notice, so that both commit or neither does.
 */
import { randomUUID } from 'node:crypto';
import { type SQL, sql } from 'drizzle-orm';
import { p } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { ACCOUNT_APPLICATION_ID } from '../core/own-applications.ts';

export type NoticeKind =
  | 'accountDeleted'
  | 'addressChanged'
  | 'addressReplaced'
  | 'clientAllowed'
  | 'deviceAllowed'
  | 'identityLinked'
  | 'identityRemoved'
  | 'invitation'
  | 'newDevice'
  | 'passkeyAdded'
  | 'passkeyRemoved'
  | 'recovered'
  | 'recoveredFormer'
  | 'recoveryCodeUsed'
  | 'recoveryFailed'
  | 'recoveryStarted'
  | 'secondFactorAdded'
  | 'secondFactorFailed'
  | 'secondFactorRemoved'
  | 'walletLinked'
  | 'walletRemoved';

/** For how long Usher tries to send a notice. */
const LIFETIME_MS = 24 * 60 * 60_000;

/** The login in which a user makes a change. Without it, the notice names the account page as its sender. */
export interface NoticeOrigin {
  readonly applicationId?: string;
  /** The languages that the application wants. */
  readonly locale?: string | null;
}

/** Returns the parameters of `noticesOf`, beside `now`. Without a mail server, its statement stores no notice. */
export function noticeParameters({ notices, now }: Call, { applicationId, locale }: NoticeOrigin = {}) {
  return {
    noticeId: randomUUID(),
    noticeApplicationId: applicationId ?? ACCOUNT_APPLICATION_ID,
    noticeLanguage: notices?.toLanguage(locale) ?? null,
    noticeExpiresAt: new Date(now.getTime() + LIFETIME_MS),
  };
}

interface StoredNotice {
  readonly kind: NoticeKind;
  /** The SQL after `from`. It has one row if the change was made, else none. */
  readonly from: SQL;
  readonly userId: SQL;
  readonly recipient: SQL;
  /** What the e-mail names. Defaults to nothing. */
  readonly value?: SQL;
  /** The instant of the change. Defaults to the parameter `now`. */
  readonly at?: SQL;
}

/** Returns the CTE `notice`. A statement stores at most one notice of each kind. */
export function noticesOf(...stored: readonly StoredNotice[]): SQL {
  return sql`notice as (
    insert into notices (application_id, id, kind, user_id, recipient, value, language, changed_at, due_at, expires_at)
    select ${p.uuid('noticeApplicationId')}, ${p.uuid('noticeId')}, change.kind, change.user_id, change.recipient,
      change.value, ${p.text('noticeLanguage')}, change.changed_at, ${p.instant('now')}, ${p.instant('noticeExpiresAt')}
    from (${sql.join(stored.map(selectChange), sql` union all `)}) as change
    where ${p.text('noticeLanguage')} is not null and change.recipient <> '')`;
}

/** Returns the CTE of a notice that nothing but itself stores. Parameter: userId. */
export function noticeToUser(kind: NoticeKind): SQL {
  return noticesOf({
    kind,
    from: sql`users where id = ${p.uuid('userId')} and deleted_at is null`,
    userId: sql`id`,
    recipient: sql`email`,
    at: sql`${p.instant('now')}::timestamptz`,
  });
}

function selectChange({ kind, from, userId, recipient, value = sql`''`, at = p.instant('now') }: StoredNotice): SQL {
  return sql`
    select ${sql.raw(`'${kind}'`)}::text as kind, ${userId} as user_id, ${recipient} as recipient,
      ${value}::text as value, ${at} as changed_at
    from ${from}`;
}
