import { sql } from 'drizzle-orm';
import { BY_POSTGRES } from '../../../database/sql/instants.ts';
import { nullable, p, statement, t } from '../../../database/sql/template.ts';
import { TWO_FACTORS } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { check, type Unchecked, uuid } from '../../../domain/core/validation.ts';
import { answerCompletion, type Completion } from '../../../domain/login/complete-login.ts';
import { COMPLETED_INTENT } from '../../../domain/login/completed-intent.ts';
import { completedFromHeld, findHeldSignIn, type HeldSignIn, RECOVERY } from '../../../domain/login/held-sign-in.ts';
import { type LoginIntent, requireOpenIntent } from '../../../domain/login/login-intent.ts';
import { noteSignIn } from '../../../domain/login/note-sign-in.ts';
import { NOTHING_PROVED, requireAccess } from '../../../domain/login/proved-user.ts';
import { noticeParameters, noticesOf } from '../../../domain/notices/store-notice.ts';
import {
  type EnteredFactor,
  type SecondFactorParts,
  usedFactor,
  useSecondFactor,
} from '../../../domain/second-factor/check-second-factor.ts';
import { type Browser, toSignInOrigin } from '../../../domain/sessions/browser.ts';
import type { AuthTokens } from '../../../domain/tokens/auth-tokens.ts';
import type { SignInMethod } from '../../../domain/tokens/verify-token.ts';

const rules = { loginIntentId: uuid };

export interface HeldLoginParts extends SecondFactorParts {
  readonly tokens: AuthTokens;
}

/** A login that waits for its second step in this browser. */
export interface HeldLogin {
  readonly intent: LoginIntent;
  readonly held: HeldSignIn;
}

/** @throws ServiceError `The first step has expired`, and as `requireOpenIntent` does */
async function requireHeldLogin(
  call: Call,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
): Promise<HeldLogin> {
  const intent = await requireOpenIntent(call, check(request, rules).loginIntentId);
  const held = await findHeldSignIn(call, browser, intent);
  if (!held) throw new ServiceError('HELD_SIGN_IN_ENDED');
  return { intent, held };
}

export interface SecondStep {
  readonly completion: Completion;
  readonly intent: LoginIntent;
  readonly userId: string;
  readonly codesLeft: number;
  /** Whether no code was ever entered before, as after an import. */
  readonly isFirst: boolean;
}

/**
 * Completes the login whose first step this browser has taken.
 *
 * @throws ServiceError as `requireHeldLogin` and `useSecondFactor` do; `Access not allowed` as `completeLogin` does
 */
export async function completeHeldLogin(
  call: Call,
  parts: HeldLoginParts,
  browser: Browser,
  request: Unchecked<keyof typeof rules>,
  entered: EnteredFactor,
): Promise<SecondStep> {
  const login = await requireHeldLogin(call, browser, request);
  const { userId, method } = login.held;
  const parameters = { ...heldParameters(call, browser, login), ...noticeParameters(call, login.intent) };
  try {
    const used = await useSecondFactor(call, parts, userId, entered, async (factor) => {
      const [row] = await call.run(completeByFactor, { ...parameters, ...factor });
      // Something else has ended the first step since it was read.
      if (!row?.isLive) throw new ServiceError('HELD_SIGN_IN_ENDED');
      return row;
    });
    if (entered.kind === 'recovery') call.notices?.wake();
    const completion = await answerHeld(call, parts, browser, login, used);
    return { completion, intent: login.intent, userId, codesLeft: used.codesLeft, isFirst: used.isFirst };
  } catch (error) {
    if (error instanceof ServiceError) error.attempt ??= { userId, method };
    throw error;
  }
}

/** Returns the parameters of `completedFromHeld`. */
export function heldParameters(call: Pick<Call, 'now'>, browser: Browser, { intent, held }: HeldLogin) {
  return {
    ...BY_POSTGRES,
    ...toSignInOrigin(browser),
    ...held,
    applicationId: intent.applicationId,
    loginIntentId: intent.id,
    assurance: TWO_FACTORS,
    now: call.now,
  };
}

type MaybeCompleted = { readonly completedAt: Date | null } & Omit<
  Parameters<typeof answerCompletion>[2],
  'completedAt' | 'userId' | 'method' | 'loginIntentId' | 'onBehalfBy' | keyof ReturnType<typeof toSignInOrigin>
>;

/** Does what follows a completed login. @throws ServiceError why the login was not completed by the right factor */
export async function answerHeld(
  call: Call,
  { codes, tokens }: HeldLoginParts,
  browser: Browser,
  { intent, held }: HeldLogin,
  completed: MaybeCompleted,
): Promise<Completion> {
  const { userId } = held;
  const { id: loginIntentId, applicationId, locale } = intent;
  const { completedAt } = completed;
  if (completedAt === null) {
    const { restrictAccess } = await requireOpenIntent(call, loginIntentId);
    if (restrictAccess) await requireAccess(call, { ...NOTHING_PROVED, userId, applicationId });
    throw new ServiceError('HELD_SIGN_IN_ENDED');
  }
  const how = { method: held.method as SignInMethod, ...toSignInOrigin(browser) };
  const login = { ...completed, ...how, completedAt, loginIntentId, userId, onBehalfBy: null };
  const completion = await answerCompletion(call, tokens, login);
  // Neither remembered nor known: it is no sign-in of an application.
  if (held.method === RECOVERY) return { ...completion, signIn: undefined };
  await noteSignIn(call, codes.keys, browser, { applicationId, locale, userId });
  return completion;
}

const completeByFactor = statement('complete_held_login', {
  ...COMPLETED_INTENT,
  completedAt: nullable(t.instant),
  isLive: t.boolean,
  isRight: t.boolean,
  isFirst: t.boolean,
  codesLeft: t.integer,
})`
  -- First, and materialized: where tables are distributed, a CTE sees what those before it have changed.
  with before as materialized (
    select last_used_at, (select count(*)::integer from recovery_codes where user_id = ${p.uuid('userId')}) as codes
    from totp_secrets where user_id = ${p.uuid('userId')}
  ), ${completedFromHeld(usedFactor)}, ${noticesOf({
    kind: 'recoveryCodeUsed',
    from: sql`code_used join users on users.id = code_used.user_id`,
    userId: sql`users.id`,
    recipient: sql`users.email`,
  })}
  select completed.*, exists (select 1 from live) as is_live, exists (select 1 from factor) as is_right,
    exists (select 1 from before where last_used_at is null) as is_first,
    (select codes from before) - (select count(*)::integer from code_used) as codes_left
  from (select) as always left join completed on true`;
