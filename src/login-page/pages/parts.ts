/** Parts that several pages share. */

import type { AccountRow } from '../../domain/notices/notice-row.ts';
import { type Html, html, MARK } from '../../http/html.ts';
import { isolate } from '../../texts/isolate.ts';
import { LANGUAGES, type Language, type TextKey } from '../../texts/texts.ts';
import { type PageQuery, renderQuery } from '../browser/language-choice.ts';
import { renderLinks, renderLogo } from './branding.ts';
import type { FormView, LoginView, PageView } from './view.ts';

/** Attributes of a field for an address. Browsers refuse `jörg@example.com` in `type="email"`, which Usher accepts. */
export const ADDRESS_FIELD = html`inputmode="email" autocapitalize="none" autocorrect="off" spellcheck="false" dir="ltr" maxlength="254" required`;

export function renderMark({ applicationName, application }: Pick<FormView, 'application' | 'applicationName'>): Html {
  const logo = application && renderLogo(application);
  if (logo) return logo;
  if (application?.isUsher) return html`<span class="mark">${MARK}</span>`;
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

/** Renders the choice of a language, and links. */
export function renderFooter(view: PageView, links?: Html): Html {
  const { language, place } = view;
  return html`<footer>
${place.query && renderChoice(language, place.path, place.query)}${links}${renderLinks(view)}</footer>`;
}

function renderChoice(language: Language, path: string, query: PageQuery): Html {
  return html`<form class="language" method="get" action="${path}">
${renderQuery(query)}<label class="hide" for="lang">${language.text('footer.language')}</label>
<select id="lang" name="lang">
${[...LANGUAGES.values()].map((option) => renderOption(option, option.tag === language.tag))}</select>
<noscript><button class="quiet">${language.text('footer.language.submit')}</button></noscript>
</form>
`;
}

/** Renders the name of each language in that language, so that people find theirs. */
function renderOption({ tag, name, direction }: Language, isSelected: boolean): Html {
  return html`<option value="${tag}" lang="${tag}"${direction === 'rtl' && html` dir="rtl"`}${isSelected && html` selected`}>${name}</option>
`;
}

/** A page with panels, such as the account page, whose forms are sent below its path. */
interface PanelView {
  readonly language: Language;
  readonly path: string;
  readonly formToken: string;
}

export function renderAccountPanel(id: string, title: string, items: Html, button?: Html | false): Html {
  return html`<section class="panel" aria-labelledby="${id}">
<header class="bar"><h2 id="${id}">${title}</h2>${button}</header>
${items}
</section>`;
}

/** @param id of the row, to which notices lead */
export function renderItem(
  name: string | Html,
  text: string | Html,
  button?: Html | false,
  tag?: Html | false,
  id?: AccountRow,
): Html {
  return html`<div class="item"${id && html` id="${id}"`}><div><strong>${name}</strong>${tag}<p>${text}</p></div>${button}</div>`;
}

/** Renders from when on a young way to sign in counts, after other facts about it. */
export function renderCountsFrom(language: Language, countsFrom: Date | null, separator = ' · '): Html | false {
  return (
    countsFrom !== null &&
    html`${separator}${language.html('secondFactor.counts', { date: language.date(countsFrom) })}`
  );
}

export function renderToken({ formToken }: Pick<PanelView, 'formToken'>): Html {
  return html`<input type="hidden" name="token" value="${formToken}">`;
}

export function renderDevice(language: Language, isHere: boolean): Html | false {
  return isHere && html` <span class="tag good">${language.text('account.thisDevice')}</span>`;
}

/** @param what completes the short label for screen readers */
export function renderAccountLink(view: PanelView, to: string, label: TextKey, what?: TextKey, kind = 'second'): Html {
  const { language, path } = view;
  return html`<a class="button ${kind}" href="${path}/${to}">${language.text(label)}${what && html`<span class="hide"> ${language.text(what)}</span>`}</a>`;
}

/** Renders a button that asks for a new sign-in. @param what completes the label for screen readers */
export function renderLoginButton(view: PanelView, prompt: 'LOGIN' | 'PASSKEYS', label: TextKey, what?: string): Html {
  return html`<form method="post" action="${view.path}/login">${renderToken(view)}<input type="hidden" name="prompt" value="${prompt}"><button class="second">${view.language.text(label)}${what && html`<span class="hide"> ${isolate(what)}</span>`}</button></form>`;
}
