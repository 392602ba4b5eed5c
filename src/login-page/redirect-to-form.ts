/** The redirect to the page that follows a form. */
import type { ServiceError } from '../domain/core/errors.ts';
import { UUID } from '../domain/core/validation.ts';
import type { AlertKey } from './alerts.ts';
import { setEmailCookie } from './browser-cookie.ts';
import type { CodeFigures } from './code-figures.ts';
import { type LoginRequest, loginPathOf } from './login-request.ts';
import { type Form, sendRedirect } from './responses.ts';

/** Returns the page that shows the error of a form. */
export function pageOf({ reason }: ServiceError, form: Form): Form {
  if (reason === 'ACCOUNT_CLOSED') return 'closed';
  if (reason === 'ACCESS_NOT_ALLOWED') return 'refused';
  if (reason === 'LOGIN_METHOD_NOT_ENABLED' || reason === 'ASSURANCE_NOT_MET') return 'choice';
  // A name completes the login only with a valid code.
  if (reason === 'CODE_NOT_VALID' && form === 'name') return 'code';
  // A code was just sent, whichever form has asked for it.
  return reason === 'CODE_SENT_JUST_NOW' || reason === 'CODE_SENT_TOO_OFTEN' ? 'code' : form;
}

/**
 * Returns whether the error needs no alert: the page says it, or the person entered an address again to which a code was
 * just sent.
 */
export function isExpected({ reason }: ServiceError, form: Form): boolean {
  return reason === 'ACCESS_NOT_ALLOWED' || (reason === 'CODE_SENT_JUST_NOW' && form !== 'code');
}

/** Redirects after a form, so that the browser can reload the page without sending the form again. */
export function redirectToForm(
  request: LoginRequest,
  form: Form,
  { problem, figures = {} }: { problem?: AlertKey; figures?: Partial<CodeFigures> } = {},
): void {
  const { context, browser, languages, fields, parts } = request;
  const { loginIntentId: intent, clientId, link, next, provider } = fields;
  if (fields.email && UUID.test(intent)) setEmailCookie(context, browser, intent, fields.email);
  const query = new URLSearchParams({
    intent,
    ...(clientId && { client_id: clientId }),
    ...(languages.chosen && { lang: languages.chosen }),
    ...(link && { link }),
    ...(problem && { problem, ...(provider && { provider }) }),
  });
  if (next) query.set('then', next);
  const { digits, ...others } = figures;
  const shown = form === 'code' ? figures : others;
  for (const [name, value] of Object.entries(shown)) if (value) query.set(name, String(value));
  const page = loginPathOf(parts);
  sendRedirect(context, `${form === 'choice' ? page : `${page}/${form}`}?${query}`);
}
