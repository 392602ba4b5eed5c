import type { Action } from '../../login-page/action.ts';
import { keepAnswer } from '../../login-page/answer-cookie.ts';
import type { LoginRequest } from '../../login-page/login-request.ts';
import { redirectToForm } from '../../login-page/redirect-to-form.ts';
import type { RememberedSignIns } from '../../login-page/remembered-sign-ins.ts';
import { sendRedirect } from '../../login-page/responses.ts';
import { signOutHere } from '../../login-page/sign-out-here.ts';

/** Returns the actions of the page that offers to continue a sign-in. */
export function createContinueActions(signIns: RememberedSignIns): readonly Action[] {
  return [
    { method: 'POST', path: '/login/continue', form: 'choice', run: (request) => continueSignIn(request, signIns) },
    { method: 'POST', path: '/login/forget', form: 'choice', run: signOutAndChoose },
  ];
}

async function continueSignIn(request: LoginRequest, signIns: RememberedSignIns): Promise<void> {
  const { redirectUrl } = await signIns.complete(request, request.parts.tokens, request.fields);
  keepAnswer(request);
  sendRedirect(request.context, redirectUrl);
}

/** Signs out, and shows the choice of how to sign in as somebody else. */
async function signOutAndChoose(request: LoginRequest): Promise<void> {
  await signOutHere(request);
  redirectToForm(request, 'choice');
}
