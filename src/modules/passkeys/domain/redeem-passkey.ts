import { sql } from 'drizzle-orm';
import { passkeys } from '../../../database/schema/passkey-schema.ts';
import { users } from '../../../database/schema/schema.ts';
import { BY_POSTGRES } from '../../../database/sql/instants.ts';
import { p, type RowOfType, statement } from '../../../database/sql/template.ts';
import { accessByCtes } from '../../../domain/access/has-access.ts';
import { isForPasskeysOnly } from '../../../domain/applications/branding.ts';
import { ONE_FACTOR, PHISHING_RESISTANT } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, text, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { acceptInvitation } from '../../../domain/login/accept-invitation.ts';
import type { EmailLoginParts } from '../../../domain/login/complete-email-login.ts';
import { answerLogin, type Completion } from '../../../domain/login/complete-login.ts';
import { COMPLETED_INTENT, completedIntent, laterThanCutoffs } from '../../../domain/login/completed-intent.ts';
import { holdSignIn } from '../../../domain/login/held-sign-in.ts';
import { requireOpenIntent } from '../../../domain/login/login-intent.ts';
import { noteSignIn } from '../../../domain/login/note-sign-in.ts';
import { NOTHING_PROVED, requireAccess } from '../../../domain/login/proved-user.ts';
import { provingUser } from '../../../domain/login/record-attempt.ts';
import { type Browser, toSignInOrigin } from '../../../domain/sessions/browser.ts';
import { isYoung } from '../../../domain/users/counts-from.ts';
import { isActiveUser } from '../../../domain/users/user.ts';
import { toUserHandle } from './creation-options.ts';
import { parseCredential, requireOwnRequest, requireValid } from './credential.ts';
import type { RelyingParty } from './relying-party.ts';
import { verifyUse } from './verify-passkey.ts';

const rules = { loginIntentId: uuid, credential: text({ max: 8_192 }) };
const METHOD = 'passkey';

export interface PasskeyLoginParts extends EmailLoginParts {
  /** Whether the person with the address needs a passkey for the console: even the first one is young then. */
  readonly demandsPasskey: (email: string) => boolean;
  readonly relyingParty: RelyingParty;
}

export interface PasskeyCompletion extends Completion {
  /** Whether the signature counter has not increased: the passkey may have been cloned. */
  readonly hasSteppedBack: boolean;
}

/**
 * Completes the login if the credential answers the challenge for this intent in this browser.
 *
 * @throws ServiceError `Invalid passkey`, `Unknown passkey`, `Passkey too new` (young, and the application allows
 * nothing but passkeys, or demands more than one factor), `Assurance not met` (the passkey has not verified the person),
 * `Access not allowed` and `Second factor needed` as `completeLogin` does, and as `requireOpenIntent` does
 */
export async function redeemPasskey(
  call: Call,
  { codes, demandsPasskey, relyingParty, tokens }: PasskeyLoginParts,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<PasskeyCompletion> {
  const { loginIntentId, credential: json } = check(request, rules);
  const { applicationId, locale, restrictAccess } = await requireOpenIntent(
    call,
    loginIntentId,
    METHOD,
    PHISHING_RESISTANT,
  );
  const credential = parseCredential(json);
  requireOwnRequest(credential, relyingParty, { purpose: 'passkey get', loginIntentId, browser }, call.now);
  const passkey = await findPasskey(call, credential.id, relyingParty);
  requireValid(credential.userHandle === toUserHandle(passkey.userId));
  const { isUserVerified, ...use } = await verifyUse(credential, passkey.publicKey, relyingParty);
  const { userId, credentialId } = passkey;
  const isTooNew =
    isYoung(passkey.countsFrom, call.now) ||
    (isYoung(passkey.countsForOperatorsFrom, call.now) && demandsPasskey(passkey.email));
  const assurance = isUserVerified && !isTooNew ? PHISHING_RESISTANT : ONE_FACTOR;
  const parameters = {
    ...BY_POSTGRES,
    ...use,
    ...toSignInOrigin(browser),
    credentialId,
    loginIntentId,
    userId,
    passkeyId: passkey.id,
    isTooNew,
    assurance,
    method: METHOD,
    now: call.now,
  };
  const complete = restrictAccess ? completeRestricted : completeWithPasskey;
  const completeOrRefuse = async () => {
    const [completed] = await call.run(complete, { ...parameters, applicationId });
    if (completed) return completed;
    const open = await requireOpenIntent(call, loginIntentId);
    if (isTooNew && isForPasskeysOnly(open.branding)) throw new ServiceError('PASSKEY_TOO_NEW');
    if (restrictAccess) await requireAccess(call, { ...NOTHING_PROVED, userId, applicationId });
    const held = await holdSignIn(call, open, { ...NOTHING_PROVED, ...parameters });
    if (held) return held;
    if (assurance < open.requiredAssurance) throw new ServiceError(isTooNew ? 'PASSKEY_TOO_NEW' : 'ASSURANCE_NOT_MET');
    throw new ServiceError('UNKNOWN_PASSKEY');
  };
  const intent = await provingUser(userId, completeOrRefuse);
  call.count?.('sign_ins');
  if (intent.isInvited) await acceptInvitation(call, { ...intent, userId });
  await noteSignIn(call, codes.keys, browser, { applicationId, locale, userId });
  const completion = await answerLogin(tokens, { ...intent, loginIntentId, userId, method: METHOD });
  // Not remembered: "Continue as" would open applications in which the passkey cannot sign in yet.
  const { signIn } = isTooNew ? {} : completion;
  return { ...completion, signIn, hasSteppedBack: hasSteppedBack(passkey.signCount, use.signCount) };
}

async function findPasskey({ run }: Call, id: string, { rpId }: RelyingParty): Promise<StoredPasskey> {
  const [passkey] = await run(selectPasskey, { credentialId: Buffer.from(id, 'base64url'), rpId });
  if (!passkey) throw new ServiceError('UNKNOWN_PASSKEY');
  return passkey;
}

/** WebAuthn, section 6.1.1. The counter of synced passkeys is always zero. */
function hasSteppedBack(before: number, now: number): boolean {
  return before > 0 && now <= before;
}

const STORED = {
  id: passkeys.id,
  credentialId: passkeys.credentialId,
  userId: passkeys.userId,
  publicKey: passkeys.publicKey,
  signCount: passkeys.signCount,
  countsFrom: passkeys.countsFrom,
  countsForOperatorsFrom: passkeys.countsForOperatorsFrom,
  email: users.email,
};

type StoredPasskey = RowOfType<typeof STORED>;

const selectPasskey = statement('select_passkey', STORED)`
  select k.id, k.credential_id, k.user_id, k.public_key, k.sign_count, k.counts_from,
    k.counts_for_operators_from, users.email
  from passkeys k join users on users.id = k.user_id
  where k.credential_id = ${p.bytes('credentialId')} and k.rp_id = ${p.text('rpId')} and ${isActiveUser}`;

const used = sql`used as (
    update passkeys k
    set sign_count = ${p.bigint('signCount')}, is_backed_up = ${p.boolean('isBackedUp')},
      last_used_at = ${p.instant('now')}
    where k.credential_id = ${p.bytes('credentialId')} and k.user_id = ${p.uuid('userId')}
    returning k.user_id
  )`;

const ofPasskey = {
  user: sql`used join users on users.id = used.user_id where ${isActiveUser}`,
  owes: 'users' as const,
  condition: sql`(not ${p.boolean('isTooNew')} or a.login_methods <> array['passkey'])`,
  assurance: sql`${p.integer('assurance')}`,
  passkeyId: p.uuid('passkeyId'),
  completedAt: laterThanCutoffs,
};

const completeWithPasskey = statement('complete_passkey_login', COMPLETED_INTENT)`
  with ${used}, ${completedIntent(ofPasskey)}
  select * from completed`;

const completeRestricted = statement('complete_restricted_passkey_login', COMPLETED_INTENT)`
  with ${used}, ${accessByCtes.ctes}, ${completedIntent({ ...ofPasskey, access: accessByCtes.condition })}
  select * from completed`;
