/** The second step of a sign-in, and setting up an authenticator app within a login or after one. */
import { TWO_FACTORS } from '../../domain/core/assurance.ts';
import { hasReason, ServiceError } from '../../domain/core/errors.ts';
import { UUID } from '../../domain/core/validation.ts';
import type { RowCipher } from '../../domain/crypto/aes-gcm.ts';
import type { DerivedKeys } from '../../domain/crypto/derived-keys.ts';
import { extendCode } from '../../domain/login/extend-code.ts';
import { findFactorOwner, findHeldSignIn } from '../../domain/login/held-sign-in.ts';
import { findLoginIntent, type LoginIntent } from '../../domain/login/login-intent.ts';
import { findRecentSignIn } from '../../domain/login/recent-sign-in.ts';
import type { EnteredFactor } from '../../domain/second-factor/check-second-factor.ts';
import { createFormNonce } from '../../login-page/browser/browser-cookie.ts';
import { pickFields } from '../../login-page/offer/login-context.ts';
import type { Action, LoginRequest } from '../../login-page/offer/login-request.ts';
import { alertFor, alertKeyOf } from '../../login-page/pages/alerts.ts';
import type { PageContent } from '../../login-page/pages/document.ts';
import { sendPage } from '../../login-page/pages/responses.ts';
import { keepSignedIn, leaveSignedIn, redirectToForm, SECOND_STEP } from '../../login-page/redirect-to-form.ts';
import { showForm, viewLogin } from '../../login-page/show-form.ts';
import { completeHeldLogin, type HeldLogin } from './domain/complete-held-login.ts';
import {
  confirmTotp,
  confirmTotpInLogin,
  createSecret,
  makeRecoveryCodes,
  openSecret,
  type UnconfirmedSecret,
} from './domain/confirm-totp.ts';
import { renderCodesLeft, renderNewCodes } from './pages/recovery-codes.ts';
import { renderSecondStep } from './pages/second-step.ts';
import { renderQrCode, renderSetUp } from './pages/set-up.ts';

interface OwnParts {
  readonly cipher: RowCipher;
  readonly keys: DerivedKeys;
}

const NEW = `${SECOND_STEP}/new`;
const RECOVERY = `${SECOND_STEP}/recovery`;

export function createSecondStepActions(own: OwnParts): readonly Action[] {
  const show = (kind: EnteredFactor['kind']) => (request: LoginRequest) => showStep(request, own, kind);
  const take = (kind: EnteredFactor['kind']) => (request: LoginRequest) => takeStep(request, own, kind);
  return [
    { method: 'GET', path: `/login/${SECOND_STEP}`, form: SECOND_STEP, run: show('app') },
    { method: 'POST', path: `/login/${SECOND_STEP}`, form: SECOND_STEP, signsInBy: 'email', run: take('app') },
    { method: 'GET', path: `/login/${RECOVERY}`, form: RECOVERY, run: show('recovery') },
    { method: 'POST', path: `/login/${RECOVERY}`, form: RECOVERY, signsInBy: 'email', run: take('recovery') },
    { method: 'GET', path: `/login/${NEW}`, form: NEW, run: (request) => showSetUp(request, own) },
    { method: 'POST', path: `/login/${NEW}`, form: NEW, run: (request) => confirm(request, own) },
    { method: 'POST', path: `/login/${SECOND_STEP}/done`, form: 'choice', run: goOn },
  ];
}

/** Shows the page for a code, or the set-up to somebody who has none and whose login demands one. */
async function showStep(request: LoginRequest, own: OwnParts, kind: EnteredFactor['kind']): Promise<void> {
  const { call, context } = request;
  const login = await findHeld(request);
  if (!login) return showForm(request, 'choice');
  const { intent, held } = login;
  const owner = await findFactorOwner(call, held.userId);
  // Somebody has removed it since the first step, unless the login demands one.
  if (!owner?.hasSecondFactor)
    return intent.requiredAssurance < TWO_FACTORS ? showForm(request, 'choice') : showSetUp(request, own);
  // Of another first step, this browser may not know the address.
  const email = held.method === 'email' ? owner.email : undefined;
  const page = renderSecondStep({ ...viewOfStep(request, intent), kind, email, isPasskey: held.method === 'passkey' });
  sendPage(context, 200, { ...page, application: viewLogin(request, intent).application });
}

async function takeStep(request: LoginRequest, own: OwnParts, kind: EnteredFactor['kind']): Promise<void> {
  const { call, parts, browser, fields } = request;
  const entered = { kind, code: pickFields(request, 'code').code };
  const step = await completeHeldLogin(call, { ...parts, ...own }, browser, fields, entered);
  const { completion, codesLeft, isFirst, intent, userId } = step;
  // Nobody has shown the codes that belong to an imported secret.
  const isImported = kind === 'app' && isFirst && codesLeft === 0;
  const codes = isImported ? await makeRecoveryCodes(call, userId) : undefined;
  if (kind === 'app' && !codes) return leaveSignedIn(request, completion, { mayOffer: true });
  await keepSignedIn(request, completion);
  const view = viewOfStep(request, intent);
  send(request, intent, codes ? renderNewCodes(view, { codes, countsFrom: null }) : renderCodesLeft(view, codesLeft));
}

/** The login within which somebody sets up an app: held, or completed in this browser in the last minutes. */
async function findSetUp(request: LoginRequest) {
  const { call, browser, fields } = request;
  const held = await findHeld(request);
  if (held) return { held, intent: held.intent, of: { userId: held.held.userId, loginIntentId: held.intent.id } };
  const signIn = await findRecentSignIn(call, browser, fields);
  return signIn && { signIn, intent: signIn.intent, of: signIn };
}

async function findHeld({ call, browser, fields }: LoginRequest): Promise<HeldLogin | undefined> {
  const intent = UUID.test(fields.loginIntentId) ? await findLoginIntent(call, fields.loginIntentId) : undefined;
  if (!intent || intent.completedAt) return undefined;
  const held = await findHeldSignIn(call, browser, intent);
  return held && { intent, held };
}

async function showSetUp(request: LoginRequest, own: OwnParts): Promise<void> {
  const found = await findSetUp(request);
  if (!found) return showForm(request, 'choice');
  const unconfirmed = await createSecret(request.call, own, request.browser, found.of);
  await sendSetUp(request, found, unconfirmed);
}

async function sendSetUp(
  request: LoginRequest,
  { intent, held }: { readonly intent: LoginIntent; readonly held?: HeldLogin },
  { secret, sealed }: UnconfirmedSecret,
  error?: ServiceError,
): Promise<void> {
  const view = viewOfStep(request, intent);
  const alert = error ? alertFor(alertKeyOf(error), view.language, error.figures) : view.alert;
  const qrCode = await renderQrCode(secret, new URL(request.parts.authPageUrl).host);
  const accountPath = view.path.replace(/login$/, 'account');
  send(
    request,
    intent,
    renderSetUp({ ...view, alert, secret, sealed, qrCode, accountPath: held ? accountPath : undefined }),
    error ? 422 : 200,
  );
}

async function confirm(request: LoginRequest, own: OwnParts): Promise<void> {
  const { call, browser, parts } = request;
  const found = await findSetUp(request);
  if (!found) throw new ServiceError('HELD_SIGN_IN_ENDED');
  const { intent, held, signIn, of } = found;
  const { sealed, code } = pickFields(request, 'sealed', 'code');
  const all = { ...parts, ...own };
  const confirmation = { browser, sealed, code };
  try {
    if (held) {
      const { completion, ...made } = await confirmTotpInLogin(call, all, held, confirmation);
      await keepSignedIn(request, completion);
      send(request, intent, renderNewCodes(viewOfStep(request, intent), { ...made, codes: made.recoveryCodes }));
    } else if (signIn) {
      const made = await confirmTotp({ ...call, cutoffCount: signIn.cutoffCount }, all, signIn, confirmation);
      send(request, intent, renderNewCodes(viewOfStep(request, intent), { ...made, codes: made.recoveryCodes }));
    }
  } catch (error) {
    // The same secret again, which the app may have by now.
    const unconfirmed = openSecret(call, own, browser, { login: of, sealed });
    if (!hasReason(error, 'WRONG_SECOND_FACTOR')) throw error;
    // Equivalent: guard: a wrong code was compared with the secret in `sealed`
    if (!unconfirmed) throw error;
    await sendSetUp(request, found, unconfirmed, error);
  }
}

/** Goes on to the page that the person wants to see, or to the application, whose code may have expired while the page with the codes was open. */
async function goOn(request: LoginRequest): Promise<void> {
  const { call, browser, fields, parts } = request;
  const wanted = parts.signInWays.findWantedPage(request);
  if (wanted) return redirectToForm(request, wanted);
  await extendCode(call, browser, fields.loginIntentId);
  await showForm(request, 'choice');
}

function viewOfStep(request: LoginRequest, intent: LoginIntent) {
  return { ...viewLogin(request, intent), once: createFormNonce(), next: request.fields.next };
}

function send(request: LoginRequest, intent: LoginIntent, page: PageContent, status = 200): void {
  sendPage(request.context, status, { ...page, application: viewLogin(request, intent).application });
}
