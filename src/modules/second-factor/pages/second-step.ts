import { type Html, html, readScript } from '../../../http/html.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import {
  renderAlert,
  renderFooter,
  renderHeading,
  renderLogin,
  renderMark,
  renderOwnLogin,
} from '../../../login-page/pages/parts.ts';
import type { LoginView } from '../../../login-page/pages/view.ts';
import { renderAddress } from '../../../texts/isolate.ts';
import type { TextKey } from '../../../texts/texts.ts';

const CODE_SCRIPT = readScript(new URL('../../../login-page/scripts/code.js', import.meta.url));
/** The places of the digits stand in the middle until they are typed: then they are below them. */
const STYLE = '.code:placeholder-shown{background-position:0 50%}';

/** The data of the pages of this module. */
export interface StepView extends LoginView {
  /** Makes the forms of this page differ from those of all others. */
  readonly once: string;
  /** The page that the person wants to see after the sign-in, or an empty string. */
  readonly next: string;
}

/** Renders the page for a code of the app, or for a recovery code. */
export function renderSecondStep(
  view: StepView & {
    readonly kind: 'app' | 'recovery';
    readonly isPasskey: boolean;
    /** To which the code of the first step was sent. */
    readonly email: string | undefined;
  },
): PageContent {
  const { language, path, alert, kind, email } = view;
  const isApp = kind === 'app';
  const text = isApp ? 'secondFactor.app.text' : 'secondFactor.recovery.text';
  return {
    language,
    title: language.text('secondFactor.title'),
    body: html`${renderMark(view)}
${renderHeading(html`${language.text('secondFactor.title')}`, html`<p>${language.text(text)}</p>${email && html`<p class="soft">${renderAddress(email)}</p>`}`)}
${renderAlert(alert)}
<form method="post" action="${path}/second-factor${!isApp && '/recovery'}" data-busy="${language.text('code.busy')}">
${renderStepHidden(view)}${isApp ? renderAppCode(view) : renderRecoveryCode(view)}
<button>${language.text('code.submit')}</button>
</form>
<div class="rows">
${
  isApp
    ? renderWay(view, '/second-factor/recovery', 'secondFactor.recovery.question', 'secondFactor.recovery.link')
    : renderWay(view, '/second-factor', 'secondFactor.app.question', 'secondFactor.app.link')
}
${!view.isPasskey && renderWay(view, '', 'secondFactor.passkey.question', 'secondFactor.passkey.link')}
${renderWay(view, '', 'continue.question', 'continue.other')}
</div>`,
    footer: renderFooter(view),
    style: STYLE,
    scripts: isApp ? [CODE_SCRIPT] : [],
  };
}

export function renderStepHidden(view: StepView): Html {
  return html`${renderOwnLogin(view)}<input type="hidden" name="once" value="${view.once}">
`;
}

/** Renders the field for a code of the app. */
export function renderAppCode({ language, alert }: StepView, isFocused = true): Html {
  const fault = html` aria-describedby="alert" aria-invalid="true"`;
  return html`<label for="code">${language.text('code.field')}</label>
<input id="code" class="code" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[\\p{Nd}\\s\\-]*" title="${language.text('secondFactor.app.text')}" data-digits="6" dir="ltr" placeholder=" " required${alert && fault}${isFocused && html` autofocus`}>`;
}

function renderRecoveryCode({ language, alert }: StepView): Html {
  const fault = html` aria-describedby="alert" aria-invalid="true"`;
  return html`<label for="code">${language.text('secondFactor.recovery.field')}</label>
<input id="code" name="code" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false" dir="ltr" maxlength="64" required${alert && fault} autofocus>`;
}

/** Renders a button that leads to another way to sign in. */
export function renderWay(view: StepView, page: string, question: TextKey, label: TextKey): Html {
  const { language, path } = view;
  return html`<form class="also" method="get" action="${path}${page}">${renderLogin(view)}${language.text(question)} <button class="quiet">${language.text(label)}</button></form>`;
}
