import { type SQL, sql } from 'drizzle-orm';
import { p, statement } from '../../../../database/sql/template.ts';
import { ServiceError } from '../../../../domain/core/errors.ts';
import { NOTHING_PROVED, requireAccess } from '../../../../domain/login/proved-user.ts';
import { isStillHere } from '../../../../domain/sessions/browser-cutoffs.ts';
import { findOrBeginOfGrant } from '../../../../domain/sessions/find-or-begin-session.ts';
import { formFor, inForms } from '../../../../domain/sessions/forms.ts';
import { newSession, type Peer } from '../../../../domain/sessions/session.ts';
import { computeSid } from '../../../../domain/sessions/sid.ts';
import { OidcError } from '../oidc-error.ts';
import type { SealKeys } from '../tokens/sealed-bytes.ts';
import { beginGrantedSession, type GrantedSession, type NewGrant } from './granted-session.ts';
import { FOUND, insertGrant, REDEEMED_LOGIN } from './insert-grant.ts';
import {
  type CodeCall,
  type CodeRequest,
  REDEEMED,
  type RedeemedLogin,
  readCodeRequest,
  redeemCode,
  redeemedIntent,
} from './redeem-code.ts';

interface GrantingCall extends CodeCall {
  readonly isPublic: boolean;
  readonly peer: Peer;
}

interface BeginParts {
  readonly codeKeys: SealKeys;
  readonly maxAgeSeconds: number;
  readonly subscribed: Set<string>;
}

export interface BegunGrant {
  readonly grant: NewGrant;
  readonly session: GrantedSession;
  readonly nonce: string | null;
}

/**
 * Redeems a code, begins its grant, and finds or begins the session, in one statement. It takes two statements where
 * the intent may be on another server, for applications whose webhooks get a message about the session, and for the
 * restricted client of a resource.
 *
 * @throws OidcError `invalid_grant` for every reason
 */
export async function beginGrant(
  call: GrantingCall,
  { codeKeys, maxAgeSeconds, subscribed }: BeginParts,
  request: CodeRequest,
): Promise<BegunGrant> {
  const { peer, run } = call;
  const code = readCodeRequest(call, codeKeys, request);
  const rotation = rotationOf(call);
  const begunAtOnce =
    subscribed.has(call.application.id) || call.client?.restrictAccess
      ? undefined
      : await run(formFor(REDEEM_AND_BEGIN, call.application), {
          ...code,
          ...peer,
          ...newSession(call),
          maxAgeSeconds,
          rotation,
        });
  if (!begunAtOnce) return beginGrantOf(call, { maxAgeSeconds, subscribed }, await redeemCode(call, code));
  const [begun] = begunAtOnce;
  if (!begun) throw new OidcError('invalid_grant');
  const { nonce, login, ...found } = begun;
  const { loginUserId: userId, loginMethod: method, loginAssurance: assurance, ...rest } = login;
  const known = { ...rest, userId, method, assurance, sid: found.sid, loginIntentId: code.loginIntentId };
  const grant = toGrant(call, maxAgeSeconds, known);
  return { grant, nonce, session: await beginGrantedSession(call, subscribed, peer, grant, found) };
}

/**
 * Begins the grant of a login that was redeemed.
 *
 * @throws OidcError `invalid_grant` as `requireEntryToClient` and `beginGrantedSession` do
 */
export async function beginGrantOf(
  call: GrantingCall,
  { maxAgeSeconds, subscribed }: Omit<BeginParts, 'codeKeys'>,
  { nonce, ...login }: RedeemedLogin,
): Promise<BegunGrant> {
  await requireEntryToClient(call, login.userId);
  const grant = toGrant(call, maxAgeSeconds, login);
  return { grant, nonce, session: await beginGrantedSession(call, subscribed, call.peer, grant) };
}

/**
 * Runs a statement only for the client of a resource that is restricted itself. The statement about the session asks
 * whether the user may enter the resource.
 *
 * @throws OidcError `invalid_grant` if the user may not enter the client
 */
export async function requireEntryToClient(call: CodeCall, userId: string): Promise<void> {
  const { client } = call;
  if (!client?.restrictAccess) return;
  try {
    await requireAccess(call, { ...NOTHING_PROVED, applicationId: client.id, userId });
  } catch (error) {
    throw error instanceof ServiceError ? new OidcError('invalid_grant') : error;
  }
}

function toGrant(
  call: Pick<GrantingCall, 'isPublic'>,
  maxAgeSeconds: number,
  { loginIntentId: grantId, ...login }: Omit<RedeemedLogin, 'nonce'>,
): NewGrant {
  const endsAt = new Date(login.authenticatedAt.getTime() + maxAgeSeconds * 1_000);
  return { ...login, grantId, endsAt, rotation: rotationOf(call) };
}

const rotationOf = ({ isPublic }: Pick<GrantingCall, 'isPublic'>) => (isPublic ? 1 : 0);

/** The result of `sidOf`, or the ID of the intent if the user signed in on a page other than Usher's. */
const sidFrom = (row: SQL) => {
  const ofBrowser = computeSid(p.uuid('applicationId'), sql`${row}.user_id`, sql`${row}.origin_browser`);
  return sql`coalesce(${ofBrowser}, ${p.uuid('loginIntentId')})`;
};

const latestEnd = sql`${REDEEMED_LOGIN.authenticatedAt} + ${p.integer('maxAgeSeconds')} * interval '1 second'`;

const signIn = {
  ...REDEEMED_LOGIN,
  redeemed: redeemedIntent,
  userId: sql`(select user_id from redeemed)`,
  expiresAt: sql`least(${p.instant('expiresAt')}, ${latestEnd})`,
};

const inserted = insertGrant(REDEEMED_LOGIN, {
  grantId: p.uuid('loginIntentId'),
  sid: sidFrom(sql`caller`),
  endsAt: latestEnd,
});

const grant = {
  ...inserted,
  condition: isStillHere(sql`redeemed.authenticated_at`, {
    sid: sidFrom(sql`redeemed`),
    userId: sql`redeemed.user_id`,
    browserDigest: sql`redeemed.origin_browser`,
  }),
  columns: sql`${inserted.columns}, caller.nonce, caller.user_id as login_user_id, caller.method as login_method,
    caller.assurance as login_assurance,
    caller.authenticated_at, caller.scope, caller.origin_address, caller.origin_user_agent, caller.origin_browser,
    caller.on_behalf_by, caller.for_client, caller.client_name, caller.needs_consent, caller.scope_names`,
};

const { nonce, userId: loginUserId, method: loginMethod, assurance: loginAssurance, ...ofLogin } = REDEEMED;
const FOUND_LOGIN = { ...FOUND, nonce, login: { loginUserId, loginMethod, loginAssurance, ...ofLogin } };

/** Returns no row if the user cannot sign in. The code is redeemed nevertheless. */
const REDEEM_AND_BEGIN = inForms(
  'redeem_code_and_begin_session',
  (name, attributesOf) =>
    statement(name, FOUND_LOGIN)
      .ifWhole`${findOrBeginOfGrant({ signIn, notifies: 'unless asked', attributesOf }, grant)}`,
);
