import type { LoginIntent } from '../domain/login/login-intent.ts';
import { alertFor } from './alerts.ts';
import { type LoginRequest, loginPathOf } from './login-request.ts';
import { toPageApplication } from './page-application.ts';
import type { LoginView } from './pages/view.ts';

/** Returns the view that all pages of a login share, with an alert if the previous form was refused. */
export function viewLogin(
  { browser, fields, languages, parts, place }: LoginRequest,
  login: LoginIntent,
  problem: string = fields.problem,
) {
  const language = languages.languageFor(login.locale);
  const path = loginPathOf(parts);
  const application = toPageApplication(login, language, path);
  return {
    language,
    place,
    application,
    chosenLanguage: languages.chosen,
    applicationName: application.name,
    alert: alertFor(problem, language, fields.figures, parts.providers.nameOf(fields.provider)),
    loginIntentId: fields.loginIntentId,
    clientId: login.clientId,
    path,
    formToken: browser.formToken,
  } satisfies LoginView;
}
