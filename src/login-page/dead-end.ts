import { findApplicationOfClient, findLoginApplication } from '../domain/login/find-login-application.ts';
import { type LoginRequest, loginPathOf } from './login-request.ts';
import { toPageApplication } from './page-application.ts';
import type { ErrorPage } from './pages/error.ts';
import { sendErrorPage } from './responses.ts';

/** Shows why a login cannot go on, and the ways on that its application has. */
export async function showDeadEnd(request: LoginRequest, kind: ErrorPage): Promise<void> {
  const { context, call, languages, place, fields, parts } = request;
  // An unknown intent has been looked up already.
  const found =
    kind === 'unknown'
      ? await findApplicationOfClient(call, fields.clientId)
      : await findLoginApplication(call, fields);
  const language = languages.languageFor(found?.locale);
  const application = found && toPageApplication(found, language, loginPathOf(parts));
  sendErrorPage(context, kind, { language, place, application });
}
