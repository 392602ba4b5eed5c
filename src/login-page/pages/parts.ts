/** Parts that several pages share. */
import { type Html, html } from '../../http/html.ts';
import { renderLogo } from './branding.ts';
import type { FormView, LoginView } from './view.ts';

export function renderMark({ applicationName, application }: Pick<FormView, 'application' | 'applicationName'>): Html {
  const logo = application && renderLogo(application);
  if (logo) return logo;
  const [initial = ''] = applicationName.trim();
  return html`<span class="mark" aria-hidden="true">${initial.toUpperCase()}</span>`;
}

/** @param text paragraphs */
export function renderHeading(title: Html, text?: Html): Html {
  return html`<div>
<h1>${title}</h1>
${text}
</div>`;
}

/** Renders the host to which the person returns. Returns undefined for private schemes of apps, which have no host. */
export function renderReturn({ language, application }: FormView): Html | undefined {
  const host = application?.site?.host;
  if (!host) return undefined;
  return html`<p>${language.html('choice.return', { host: html`<strong><bdi>${host}</bdi></strong>` })}</p>`;
}

/** Renders the alert even if it is empty, because the script of the page may fill it. */
export function renderAlert(text = ''): Html {
  return html`<p class="alert" role="alert" tabindex="-1" id="alert">${text}</p>`;
}

/** Renders the hidden fields of a form before the sign-in, with those of modules and with what is to be linked. */
export function renderHidden(view: FormView): Html {
  const { link, once, ways } = view;
  return html`${renderOwnLogin(view)}<input type="hidden" name="once" value="${once}">
${ways.flatMap(({ hidden }) => hidden ?? [])}
${link && html`<input type="hidden" name="link" value="${link}">`}`;
}

/** Returns the scripts of modules for pages with such forms. */
export function formScriptsOf({ ways }: Pick<FormView, 'ways'>): readonly string[] {
  return ways.flatMap(({ formScripts = [] }) => formScripts);
}

/** Renders the fields that identify the login, and the form token. */
export function renderOwnLogin(view: LoginView & { readonly next?: string }): Html {
  return html`${renderLogin(view)}<input type="hidden" name="token" value="${view.formToken}">`;
}

/** Renders the fields that identify the login, and the language that was chosen. */
export function renderLogin({
  loginIntentId,
  clientId,
  chosenLanguage,
  next,
}: Pick<LoginView, 'loginIntentId' | 'clientId' | 'chosenLanguage'> & { readonly next?: string }): Html {
  return html`<input type="hidden" name="intent" value="${loginIntentId}"><input type="hidden" name="client_id" value="${clientId}">${
    chosenLanguage && html`<input type="hidden" name="lang" value="${chosenLanguage}">`
  }${next && html`<input type="hidden" name="then" value="${next}">`}`;
}

/** Renders the form that leads back to the choice of how to sign in. */
export function renderOtherWay(view: FormView): Html {
  const { language, path } = view;
  return html`<form class="also" method="get" action="${path}">${renderLogin(view)}
${language.text('code.otherWay.question')} <button class="quiet">${language.text('code.otherWay')}</button>
</form>`;
}

/** Renders the form that leads back to the application. */
export function renderCancel(view: FormView): Html {
  const { language, path, demand } = view;
  // Where nothing else is left to do, it is the button of the page.
  const isOnly = demand === 'assurance.unmet';
  return html`<form class="${isOnly ? 'ways' : 'also'}" method="post" action="${path}/cancel" data-busy="${language.text('cancel.busy')}">
${renderHidden(view)}<button${!isOnly && html` class="quiet"`}>${language.text('cancel.submit')}</button>
</form>`;
}
