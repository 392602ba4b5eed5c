import { Html, html } from '../../../http/html.ts';
import { renderOwnLogin } from '../../../login-page/pages/parts.ts';
import type { FormView } from '../../../login-page/pages/view.ts';

export interface ProviderView {
  readonly id: string;
  readonly name: string;
  readonly mark: ProviderMark;
  /** Whether it has checked one factor only, and is to ask for a second one. */
  readonly isAskedAgain?: boolean;
}

/** Renders a button for each provider, in the order of `LOGIN_PROVIDERS_FILE`. */
export function renderProviderForms(view: FormView, providers: readonly ProviderView[]): Html {
  const { language, methods, path } = view;
  const isSecond = methods.includes('email');
  return html`${providers.map(
    ({
      id,
      name,
      mark,
      isAskedAgain = false,
    }) => html`<form method="post" action="${path}/provider" data-busy="${language.text('provider.busy')}">
${renderOwnLogin(view)}<input type="hidden" name="provider" value="${id}">${isAskedAgain && html`<input type="hidden" name="again" value="1">`}
<button${isSecond && html` class="second"`}>${MARKS[mark]}<span>${language.html(isAskedAgain ? 'provider.again' : 'provider.submit', { provider: name })}</span></button>
</form>
`,
  )}`;
}

type ProviderMark = 'github' | 'google' | 'microsoft' | 'other';

const svg = (viewBox: string, content: string) =>
  new Html(`<svg width="20" height="20" viewBox="${viewBox}" aria-hidden="true">${content}</svg>`);

/** The logos are unchanged and in the colours that their owners demand. The logo of GitHub has the colour of the text. */
const MARKS: Readonly<Record<ProviderMark, Html>> = {
  google: svg(
    '0 0 48 48',
    '<path fill="#4285F4" d="M45.12 24.5c0-1.56-.14-3.06-.4-4.5H24v8.51h11.84c-.51 2.75-2.06 5.08-4.39 6.64v5.52h7.11c4.16-3.83 6.56-9.47 6.56-16.17z"/>' +
      '<path fill="#34A853" d="M24 46c5.94 0 10.92-1.97 14.56-5.33l-7.11-5.52c-1.97 1.32-4.49 2.1-7.45 2.1-5.73 0-10.58-3.87-12.31-9.07H4.34v5.7C7.96 41.07 15.4 46 24 46z"/>' +
      '<path fill="#FBBC05" d="M11.69 28.18C11.25 26.86 11 25.45 11 24s.25-2.86.69-4.18v-5.7H4.34C2.85 17.09 2 20.45 2 24s.85 6.91 2.34 9.88l7.35-5.7z"/>' +
      '<path fill="#EA4335" d="M24 10.75c3.23 0 6.13 1.11 8.41 3.29l6.31-6.31C34.91 4.18 29.93 2 24 2 15.4 2 7.96 6.93 4.34 14.12l7.35 5.7c1.73-5.2 6.58-9.07 12.31-9.07z"/>',
  ),
  microsoft: svg(
    '0 0 21 21',
    '<path fill="#f25022" d="M0 0h10v10H0z"/><path fill="#7fba00" d="M11 0h10v10H11z"/>' +
      '<path fill="#00a4ef" d="M0 11h10v10H0z"/><path fill="#ffb900" d="M11 11h10v10H11z"/>',
  ),
  github: svg(
    '0 0 16 16',
    '<path fill="currentColor" d="M8 0c4.42 0 8 3.58 8 8a8.01 8.01 0 0 1-5.45 7.59c-.4.08-.55-.17-.55-.38 0-.27.01-1.13.01-2.2 0-.75-.25-1.23-.54-1.48 1.78-.2 3.65-.88 3.65-3.95 0-.88-.31-1.59-.82-2.15.08-.2.36-1.02-.08-2.12 0 0-.67-.22-2.2.82-.64-.18-1.32-.27-2-.27s-1.36.09-2 .27c-1.53-1.03-2.2-.82-2.2-.82-.44 1.1-.16 1.92-.08 2.12-.51.56-.82 1.28-.82 2.15 0 3.06 1.86 3.75 3.64 3.95-.23.2-.44.55-.51 1.07-.46.21-1.61.55-2.33-.66-.15-.24-.6-.83-1.23-.82-.67.01-.27.38.01.53.34.19.73.9.82 1.13.16.45.68 1.31 2.69.94 0 .67.01 1.3.01 1.49 0 .21-.15.45-.55.38A8 8 0 0 1 0 8c0-4.42 3.58-8 8-8z"/>',
  ),
  other: svg(
    '0 0 20 20',
    '<path fill="none" stroke="currentColor" stroke-width="1.6" stroke-linejoin="round" stroke-linecap="round" d="M11 3h6v14h-6M3 10h9M9 6.5l3.5 3.5L9 13.5"/>',
  ),
};

export function markOf(issuer: string): ProviderMark {
  const { host } = new URL(issuer);
  if (host === 'accounts.google.com') return 'google';
  if (host === 'login.microsoftonline.com') return 'microsoft';
  return host === 'github.com' ? 'github' : 'other';
}
