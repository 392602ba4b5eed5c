/** The logos of an application: one for light pages, and one for dark pages. */
import { AdminService } from '../../../../gen/usher/v1/admin_pb.ts';
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { MAX_LOGO_BYTES } from '../../../domain/applications/logo-image.ts';
import { invalidField } from '../../../domain/core/errors.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { type ConsoleRequest, findApplication } from '../console-request.ts';
import { createAction } from '../parts/action.ts';
import { renderField, renderProblem, renderSelect } from '../parts/field.ts';
import { renderForm } from '../parts/form.ts';
import { readLogoUri } from '../parts/logo-uri.ts';
import { renderBreadcrumbs, renderNote, renderPanel } from '../parts/panel.ts';
import type { ConsolePage } from '../route.ts';

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
  const none =
    theme === 'dark' && application.logoDigest
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
