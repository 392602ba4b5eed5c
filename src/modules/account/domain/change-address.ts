/** Users change their e-mail address on the account page, with a code that Usher sends to the new address. */
import { hash, randomUUID } from 'node:crypto';
import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import { ACCOUNT_APPLICATION_ID } from '../../../domain/core/own-applications.ts';
import { check, emailAddress, text, type Unchecked } from '../../../domain/core/validation.ts';
import { ADDRESS_IS_MUTED, insertNewCode } from '../../../domain/login/create-login-code.ts';
import { findAddressFacts } from '../../../domain/login/find-address-facts.ts';
import { findLatestCode } from '../../../domain/login/find-latest-code.ts';
import type { LoginCodeSettings } from '../../../domain/login/login-code.ts';
import { enteredCode } from '../../../domain/login/read-login-code.ts';
import { isRightCode, requireRightCode } from '../../../domain/login/require-right-code.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { markEmailVerified } from '../../../domain/users/mark-email-verified.ts';
import { removeIfErased } from '../../../domain/users/personal-data.ts';
import { changeOwnEmail, type EmailChange } from '../../../domain/users/update-user.ts';
import { toUuid } from '../../../encoding/uuid-bytes.ts';

export interface AddressCode {
  /** Identifies the change. */
  readonly changeId: string;
  readonly email: string;
  readonly code: string;
  /** Another user has the address, or its owner has muted it for strangers: do all the work except sending. */
  readonly isDecoy: boolean;
  /** Why, for the terminal of a developer. */
  readonly decoyReason: string | undefined;
}

/** Whose address changes, and what the change is part of: the user's own sign-in, or a recovery link. */
interface ChangeOf {
  readonly userId: string;
  /** The ID of the user or of the link. */
  readonly of: string;
}

/**
 * Login codes belong to a login intent. For a change of address, a UUID of the user, or of the recovery link, and the
 * change takes the place of its ID. So the changes in two tabs do not mix, and nobody else can complete them. `changeId`
 * may be any text.
 */
function codesOf(of: string, browser: Browser, changeId: string) {
  const digest = hash('sha256', `${of} ${changeId}`, 'buffer');
  const loginIntentId = toUuid(digest.subarray(0, 16));
  return { applicationId: ACCOUNT_APPLICATION_ID, loginIntentId, browserDigest: browser.digest };
}

/** Returns the address of a change that this browser has begun, or an empty string. */
export async function findNewAddress(call: Call, browser: Browser, of: string, changeId: string): Promise<string> {
  return (await findLatestCode(call, codesOf(of, browser, changeId)))?.email ?? '';
}

const addressRules = { email: emailAddress };

/**
 * Returns a code for the new address, valid for 10 minutes in this browser. The limits of strangers apply.
 *
 * @param isRefused whether nobody may take the address
 * @throws ServiceError `Too many codes`
 */
export async function createAddressCode(
  call: Call,
  settings: LoginCodeSettings,
  browser: Browser,
  { userId, of, isRefused = false }: ChangeOf & { readonly isRefused?: boolean },
  request: Unchecked<keyof typeof addressRules>,
): Promise<AddressCode> {
  const { email } = check(request, addressRules);
  const changeId = randomUUID();
  const codes = codesOf(of, browser, changeId);
  const { user: owner, hasMuted } = await findAddressFacts(call, settings, browser, email, codes);
  const isTaken = (owner !== undefined && owner.id !== userId) || isRefused;
  const decoyReason = hasMuted ? ADDRESS_IS_MUTED : isTaken ? 'the address may not be taken' : undefined;
  const isDecoy = decoyReason !== undefined;
  const login = {
    ...codes,
    email,
    walletAddress: null,
    identityId: null,
    userId: isDecoy ? null : userId,
  };
  const { code } = await insertNewCode(call, settings, login, { browser, email, familiarity: 'stranger' });
  await removeIfErased(call, userId);
  return { changeId, email, code, isDecoy, decoyReason };
}

const codeRules = { changeId: text({ max: 64, min: 0 }), code: enteredCode };

/**
 * Returns the address that the latest code was sent to, if the code is right.
 *
 * @throws ServiceError `Wrong code`, `Code no longer valid`
 */
export async function requireAddressCode(
  call: Call,
  settings: LoginCodeSettings,
  browser: Browser,
  { userId, of }: ChangeOf,
  request: Unchecked<keyof typeof codeRules>,
): Promise<string> {
  const { changeId, code } = check(request, codeRules);
  const codes = codesOf(of, browser, changeId);
  const latest = await findLatestCode(call, codes);
  if (!latest) throw new ServiceError('CODE_NOT_VALID');
  const guessed = { ...codes, latest, wasSent: latest.userId === userId };
  await requireRightCode(call, guessed, isRightCode(settings, guessed, code));
  return latest.email;
}

/**
 * Gives the user the address that the latest code was sent to, and returns the change. It may be none: the user may have
 * had the address.
 *
 * @throws ServiceError `Wrong code`, `Code no longer valid`, `User already exists`, `User not found`
 */
export async function changeAddress(
  call: Call,
  settings: LoginCodeSettings,
  browser: Browser,
  userId: string,
  request: Unchecked<keyof typeof codeRules>,
): Promise<EmailChange> {
  const email = await requireAddressCode(call, settings, browser, { userId, of: userId }, request);
  const change = await changeOwnEmail(call, { userId, email });
  await markEmailVerified(call, { userId, email: change.to });
  return change;
}
