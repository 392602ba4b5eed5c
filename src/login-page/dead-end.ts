import { findApplicationOfClient, findLoginApplication } from '../domain/login/find-login-application.ts';
import { type LoginRequest, loginPathOf } from './login-request.ts';
import { toPageApplication } from './page-application.ts';
import type { ErrorPage } from './pages/error.ts';
import { sendErrorPage } from './responses.ts';

/** Shows why a login cannot continue, with links back to its application. */
export async function showDeadEnd(request: LoginRequest, kind: ErrorPage): Promise<void> {
  const { context, call, languages, place, fields, parts } = request;
  // For `unknown`, the intent has already been looked up in vain.
  const found =
    kind === 'unknown'
      ? await findApplicationOfClient(call, fields.clientId)
      : await findLoginApplication(call, fields);
  const language = languages.languageFor(found?.locale);
  const application = found && toPageApplication(found, language, loginPathOf(parts));
  sendErrorPage(context, kind, { language, place, application });
}
