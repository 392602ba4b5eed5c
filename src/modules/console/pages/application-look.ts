/** The logos of an application, and a preview of its login page for a frame without forms and scripts. */
import { randomBytes } from 'node:crypto';
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { allowsMethod } from '../../../domain/applications/branding.ts';
import { findLogo } from '../../../domain/applications/find-logo.ts';
import { MAX_LOGO_BYTES } from '../../../domain/applications/logo-image.ts';
import { ONE_FACTOR } from '../../../domain/core/assurance.ts';
import type { Call } from '../../../domain/core/call.ts';
import { invalidField } from '../../../domain/core/errors.ts';
import { send, toPageHeaders } from '../../../http/exchange.ts';
import { type Html, html } from '../../../http/html.ts';
import { renderChoice } from '../../../login-page/pages/choice.ts';
import { renderCode, renderName } from '../../../login-page/pages/code.ts';
import { renderDocument } from '../../../login-page/pages/document.ts';
import { type PageApplication, toPageApplication } from '../../../login-page/pages/page-application.ts';
import type { FormView } from '../../../login-page/pages/view.ts';
import { isolate } from '../../../texts/isolate.ts';
import { ENGLISH, LANGUAGES, type Language } from '../../../texts/texts.ts';
import { type ConsoleRequest, findApplication } from '../console-request.ts';
import { createAction, renderField, renderForm, renderProblem, renderSelect } from '../parts/form.ts';
import { renderBreadcrumbs, renderNote, renderPanel } from '../parts/panel.ts';
import type { ConsolePage, Reply } from '../route.ts';

const THEMES = [
  ['light', 'Light pages'],
  ['dark', 'Dark pages'],
] as const;

export async function showLogo(request: ConsoleRequest): Promise<ConsolePage> {
  const application = await findApplication(request.call, request.params.a);
  const path = `/applications/${application.id}`;
  const logos = await Promise.all(THEMES.map(([theme, title]) => renderLogo(request, application, theme, title)));
  return {
    title: `Logo of ${application.name}`,
    section: 'applications',
    body: html`${renderBreadcrumbs(['/applications', 'Applications'], [path, isolate(application.name)])}
<h1>Logo</h1>
${renderNote(request)}
${renderProblem(request, ['image'])}
<div class="two">${logos}</div>
<form method="post" action="${path}/logo" enctype="multipart/form-data" class="fields tight sheet">
${renderSelect('theme', 'For', THEMES, 'light')}
${renderField(request, {
  name: 'image',
  label: 'Image',
  type: 'file',
  isRequired: true,
  accept: 'image/png,image/jpeg,image/webp',
  maxBytes: MAX_LOGO_BYTES,
  note: 'PNG, JPEG or WebP, not animated, at most 40 KiB and 1024 × 512 pixels. It replaces the current image.',
})}
<div class="actions"><button>Upload</button><a class="button second" href="${path}">To the application</a></div>
</form>`,
  };
}

async function renderLogo(
  { call }: ConsoleRequest,
  application: ApplicationDetails,
  theme: 'light' | 'dark',
  title: string,
): Promise<Html> {
  const uri = await readLogoUri(call, application, theme);
  const none = application.logoDigest
    ? 'None: dark pages show the light logo on white.'
    : 'None: pages show the name of the application.';
  const remove = renderForm(
    `/applications/${application.id}/logo`,
    html`<button class="second" name="remove" value="${theme}">Remove<span class="hide"> the logo of ${title}</span></button>`,
  );
  return renderPanel(
    theme,
    title,
    html`<div class="logo ${theme}">${uri ? html`<img src="${uri}" alt="Logo of ${application.name}">` : none}</div>`,
    uri !== undefined && remove,
    'panel tight',
  );
}

export const setLogo = createAction(
  AdminService.method.setApplicationLogo,
  async (request) => {
    const { id } = await findApplication(request.call, request.params.a);
    return { applicationId: id, ...(await readLogo(request)) };
  },
  ({ params }) => `/applications/${params.a}/logo?done=saved`,
);

/** Returns the theme and the image of the form; an empty image removes the logo. @throws ServiceError `Validation failed` without a file */
async function readLogo({ form, upload }: ConsoleRequest) {
  const removed = form.get('remove');
  if (removed !== null) return { theme: removed, image: new Uint8Array() };
  const sent = await upload?.formData().catch(() => undefined);
  const image = sent?.get('image');
  // Refuses an empty file, which would remove the logo.
  if (!(image instanceof File) || image.size === 0) throw invalidField('image', 'must be a file of at most 40 KiB');
  return { theme: String(sent?.get('theme')), image: await image.bytes() };
}

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
  const ways = parts.pages.signInWays.view(details);
  const view: FormView = {
    language,
    place: { path: '/login', query: [] },
    application,
    chosenLanguage: language.tag,
    applicationName: details.name,
    allowSignUp: details.allowSignUp,
    signUpEmailDomains: details.signUpEmailDomains,
    methods: demandsMore ? [] : parts.config.loginMethods.filter((method) => allowsMethod(details, method)),
    demand: demandsMore ? (ways.length > 0 ? 'assurance.factors' : 'assurance.text') : undefined,
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
    ways,
  };
  const nonce = randomBytes(16).toString('base64');
  const text = renderDocument({ ...RENDER[previewFormOf(query)](view), application }, nonce);
  const theme = query.get('theme') === 'dark' ? 'dark' : 'light';
  // The frame runs no scripts. Removes them, and takes links and fields out of the tab order, because they do nothing.
  const inert = text
    .replace(/<(script|noscript)\b[\s\S]*?<\/\1>\n?/g, '')
    .replace(/<(?:a|button|input|select|summary)\b/g, '$& tabindex="-1"');
  send(context, 200, inert.replace('<html ', `<html class="${theme}" `), {
    ...toPageHeaders(`sandbox; style-src 'nonce-${nonce}'; img-src data:; form-action 'none'`, 'self'),
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
    // Equivalent: condition: one is there with the other
    return logo && path !== undefined ? { ...logo, path } : undefined;
  };
  return {
    ...page,
    logo: await load('light', page.logo),
    darkLogo: await load('dark', page.darkLogo),
  };
}

/** Returns a logo as a data URI, so that it also loads if the browser cannot reach the port of the API. */
async function readLogoUri(
  call: Call,
  { id, logoDigest, darkLogoDigest }: ApplicationDetails,
  theme: 'light' | 'dark',
): Promise<string | undefined> {
  const digest = theme === 'dark' ? darkLogoDigest : logoDigest;
  const found = digest && (await findLogo(call, { applicationId: id, theme, digest: digest.toString('hex') }));
  return found ? `data:${found.mediaType};base64,${found.image.toString('base64')}` : undefined;
}
