import { type Html, html, readScript, readStyle } from '../../../http/html.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderAlert, renderFooter, renderHeading, renderMark } from '../../../login-page/pages/parts.ts';
import type { PageView } from '../../../login-page/pages/view.ts';
import { renderStepHidden, type StepView } from './second-step.ts';

const STYLE = readStyle(new URL('second-factor.css', import.meta.url));
const COPY_SCRIPT = readScript(new URL('../scripts/copy-codes.js', import.meta.url));

interface NewCodes {
  readonly codes: readonly string[];
  /** From when on the app counts. Null: at once. */
  readonly countsFrom: Date | null;
}

/** Renders new recovery codes within a login, with the button that goes on. */
export function renderNewCodes(view: StepView, made: NewCodes): PageContent {
  const label = view.language.text('secondFactor.codes.saved');
  return renderCodesPage(view, made, renderGoOn(view, label), renderMark(view));
}

/**
 * Renders new recovery codes. This page alone shows them.
 *
 * @param goOn the form or link that says they are saved
 */
export function renderCodesPage(view: PageView, { codes, countsFrom }: NewCodes, goOn: Html, mark?: Html): PageContent {
  const { language } = view;
  const file = `data:text/plain;charset=utf-8,${encodeURIComponent(`${codes.join('\n')}\n`)}`;
  const counts =
    countsFrom &&
    html`<br>${language.text('secondFactor.name')} · ${language.html('secondFactor.counts', { date: language.date(countsFrom) })}`;
  return {
    language,
    title: language.text('secondFactor.codes.title'),
    body: html`${mark}
${renderHeading(html`${language.text('secondFactor.codes.title')}`, html`<p>${language.text('secondFactor.codes.text')}${counts ?? ''}</p>`)}
${renderAlert()}
<ul class="recovery-codes" dir="ltr">${codes.map((code) => html`<li><bdi>${code}</bdi></li>`)}</ul>
<div class="code-actions">
<button id="copy" class="second" type="button" data-copied="${language.text('secondFactor.codes.copied')}" hidden>${language.text('secondFactor.codes.copy')}</button>
<a class="button second" download="recovery-codes.txt" href="${file}">${language.text('account.export.submit')}</a>
</div>
${goOn}`,
    footer: renderFooter(view),
    style: STYLE,
    scripts: [COPY_SCRIPT],
  };
}

/** Renders how many recovery codes are left after one was used. The login is complete: the button goes on. */
export function renderCodesLeft(view: StepView, left: number): PageContent {
  const { language } = view;
  const title = language.text('secondFactor.codes.left', { count: left });
  return {
    language,
    title,
    body: html`${renderMark(view)}
${renderHeading(html`${title}`, html`<p>${language.text('secondFactor.codes.left.text')}</p>`)}
${renderAlert()}
${renderGoOn(view, language.text('device.submit'))}`,
    footer: renderFooter(view),
  };
}

function renderGoOn(view: StepView, label: string): Html {
  return html`<form method="post" action="${view.path}/second-factor/done">
${renderStepHidden(view)}<button>${label}</button>
</form>`;
}
