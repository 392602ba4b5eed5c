/** A preview of the login page of an application, for a frame without forms and scripts. */
import { randomBytes } from 'node:crypto';
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { allowsMethod } from '../../../domain/applications/branding.ts';
import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { send } from '../../../http/exchange.ts';
import { type PageApplication, toPageApplication } from '../../../login-page/page-application.ts';
import { renderChoice } from '../../../login-page/pages/choice.ts';
import { renderCode } from '../../../login-page/pages/code.ts';
import { renderDocument } from '../../../login-page/pages/document.ts';
import { renderName } from '../../../login-page/pages/name.ts';
import type { FormView } from '../../../login-page/pages/view.ts';
import { ENGLISH, LANGUAGES, type Language } from '../../../texts/texts.ts';
import { type ConsoleRequest, findApplication } from '../console-request.ts';
import { readLogoUri } from '../parts/logo-uri.ts';
import type { Reply } from '../route.ts';

const RENDER = { choice: renderChoice, code: renderCode, name: renderName };

export const PREVIEW_FORMS = [
  ['choice', 'Choice'],
  ['code', 'Code'],
  ['name', 'Name'],
] as const;

export function previewFormOf(query: URLSearchParams): keyof typeof RENDER {
  const wanted = query.get('form');
  return PREVIEW_FORMS.find(([form]) => form === wanted)?.[0] ?? 'choice';
}

export async function showPreview({ context, call, params, parts, query }: ConsoleRequest): Promise<Reply> {
  const details = await findApplication(call, params.a);
  const language = LANGUAGES.get(query.get('lang') ?? '') ?? ENGLISH;
  const application = await withLogos(call, details, language);
  const demandsMore = details.requiredAssurance > ONE_FACTOR;
  const view: FormView = {
    language,
    place: { path: '/login', query: [] },
    application,
    chosenLanguage: language.tag,
    applicationName: details.name,
    allowSignUp: details.allowSignUp,
    signUpEmailDomains: details.signUpEmailDomains,
    methods: demandsMore ? [] : parts.config.loginMethods.filter((method) => allowsMethod(details, method)),
    demand: demandsMore ? 'assurance.text' : undefined,
    email: 'ada@example.com',
    alert: '',
    figures: { digits: 6, left: 0, wait: 30 },
    loginIntentId: '',
    clientId: details.clientId,
    path: '/login',
    formToken: '',
    once: '',
    link: '',
    linkedProvider: '',
    ways: parts.pages.signInWays.view(details),
  };
  const nonce = randomBytes(16).toString('base64');
  const text = renderDocument({ ...RENDER[previewFormOf(query)](view), application }, nonce);
  const theme = query.get('theme') === 'dark' ? 'dark' : 'light';
  // The frame runs no scripts. Removes them, and takes links and fields out of the tab order, because they do nothing.
  const inert = text
    .replace(/<(script|noscript)\b[\s\S]*?<\/\1>\n?/g, '')
    .replace(/<(?:a|button|input|select|summary)\b/g, '$& tabindex="-1"');
  send(context, 200, inert.replace('<html ', `<html class="${theme}" `), {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      `sandbox; default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; ` +
      `base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  });
  return 'sent';
}

/** Returns the application with its logos as data URIs, because only the port of the login page serves their paths. */
async function withLogos(call: Call, details: ApplicationDetails, language: Language): Promise<PageApplication> {
  const { id: applicationId, name: applicationName, redirectUris } = details;
  const page = toPageApplication(
    { applicationId, applicationName, redirectUris, branding: details },
    language,
    '/login',
  );
  const load = async (theme: 'light' | 'dark', logo: PageApplication['logo']) => {
    const path = await readLogoUri(call, details, theme);
    return logo && path !== undefined ? { ...logo, path } : undefined;
  };
  return {
    ...page,
    logo: await load('light', page.logo),
    darkLogo: await load('dark', page.darkLogo),
  };
}
