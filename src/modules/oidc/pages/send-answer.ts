import { addToQuery } from '../../../domain/applications/redirect-uri.ts';
import { sendPage, sendRedirect } from '../../../login-page/responses.ts';
import { type AnswerParameters, answerOf } from '../domain/authorization/authorization-answer.ts';
import type { OidcPageRequest } from './oidc-page.ts';
import { renderReturnForm } from './render-return.ts';

interface Target {
  readonly redirectUri: string;
  readonly responseMode: string;
  readonly state: string;
  /** The languages that the application wants. */
  readonly locale?: string | null;
}

/** Sends the browser to the application with the answer, by a redirect or by a form that submits itself. */
export function sendAnswer(
  { context, languages, parts }: OidcPageRequest,
  target: Target,
  parameters: AnswerParameters,
): void {
  const { redirectUri, responseMode, locale } = target;
  const answer = answerOf(parts.tokens.issuer, target, parameters);
  if (responseMode !== 'form_post') sendRedirect(context, addToQuery(redirectUri, answer));
  else sendPage(context, 200, renderReturnForm(languages.languageFor(locale), redirectUri, answer));
}
