import { type Html, html, readStyle } from '../../../http/html.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import { renderAlert, renderFooter, renderHeading, renderMark } from '../../../login-page/pages/parts.ts';
import { renderAppCode, renderStepHidden, renderWay, type StepView } from './second-step.ts';

const STYLE = readStyle(new URL('second-factor.css', import.meta.url));

interface SetUpView extends StepView {
  /** The secret in Base32, and as the form sends it back. */
  readonly secret: string;
  readonly sealed: string;
  readonly qrCode: Html;
  /** Where people add passkeys instead. Undefined after a sign-in. */
  readonly accountPath?: string | undefined;
}

/** Renders the page that shows a new secret, and asks for the first code of the app. */
export function renderSetUp(view: SetUpView): PageContent {
  const { language, path, secret, qrCode, accountPath } = view;
  const key = secret.match(/.{1,4}/g)?.join(' ') ?? '';
  return {
    language,
    title: language.text('secondFactor.new.title'),
    body: html`${renderMark(view)}
${renderHeading(html`${language.text('secondFactor.new.title')}`, html`<p>${language.text('secondFactor.new.text')}</p>`)}
${accountPath && html`<p class="also">${language.text('assurance.passkey.question')} <a href="${accountPath}">${language.text('assurance.passkey.link')}</a></p>`}
${renderAlert(view.alert)}
<div class="app-key">
${qrCode}
<code dir="ltr"><bdi>${key}</bdi></code>
</div>
<form method="post" action="${path}/second-factor/new" data-busy="${language.text('code.busy')}">
${renderStepHidden(view)}<input type="hidden" name="sealed" value="${view.sealed}">
${renderAppCode(view, false)}
<button>${language.text('device.submit')}</button>
</form>
${accountPath && renderWay(view, '', 'continue.question', 'continue.other')}`,
    footer: renderFooter(view),
    style: STYLE,
  };
}

/**
 * Renders the secret as a QR code for apps: a square of the page itself, dark on light in every theme.
 *
 * @param host by which the app names the account
 */
export async function renderQrCode(secret: string, host: string): Promise<Html> {
  const { encode } = await import('uqr');
  const name = encodeURIComponent(host);
  const text = `otpauth://totp/${name}?secret=${secret}&issuer=${name}`;
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const bars = data.flatMap((row, y) =>
    [...row.map(Number).join('').matchAll(/1+/g)].map(
      ({ 0: { length }, index: x }) => `M${x} ${y}h${length}v1h-${length}z`,
    ),
  );
  return html`<svg viewBox="0 0 ${String(size)} ${String(size)}" role="img" aria-hidden="true" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${String(size)}v${String(size)}H0z"/><path fill="#000" d="${bars.join('')}"/></svg>`;
}
