import { networkOf, siteOf } from '../../../domain/login/network.ts';
import { type Html, html, MARK } from '../../../http/html.ts';
import { renderQuery } from '../../../login-page/browser/language-choice.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import type { PageApplication } from '../../../login-page/pages/page-application.ts';
import { renderAlert, renderFooter, renderHeading, renderMark } from '../../../login-page/pages/parts.ts';
import type { PageView } from '../../../login-page/pages/view.ts';
import type { DeviceLogin } from '../domain/devices/find-device-login.ts';

const MINUTE_MS = 60_000;
/** The code stands apart from other fields, as on the device. */
const CODE_STYLE =
  '#user_code{font-family:ui-monospace,monospace;font-size:1.5rem;letter-spacing:.1em;text-align:center;text-transform:uppercase}';

interface UserCodeView extends PageView {
  readonly formToken: string;
  readonly code: string;
  readonly alert: string;
}

export interface DeviceView extends PageView {
  readonly application: PageApplication;
  readonly formToken: string;
  readonly login: Pick<DeviceLogin, 'clientName' | 'createdAt' | 'startedFrom'>;
  /** The IP address of the browser. */
  readonly address: string;
  readonly now: Date;
}

export function renderUserCode(view: UserCodeView): PageContent {
  const { language, place, formToken, code, alert } = view;
  const title = language.text('device.title');
  return {
    language,
    title,
    body: html`<span class="mark">${MARK}</span>
${renderHeading(html`${title}`, html`<p>${language.text('device.text')}</p>`)}
${renderAlert(alert)}
<form method="post" action="${place.path}">
<input type="hidden" name="token" value="${formToken}"><label for="user_code">${language.text('device.field')}</label>
<input id="user_code" name="user_code" value="${alert ? '' : code}" dir="ltr" maxlength="20" autocomplete="off" autocapitalize="characters" spellcheck="false" required autofocus${alert && html` aria-describedby="alert" aria-invalid="true"`}>
<button>${language.text('device.submit')}</button>
</form>`,
    footer: renderFooter(view),
    style: CODE_STYLE,
  };
}

/** Renders who wants to sign in a device, with the way to the login page. */
export function renderDeviceRequest(view: DeviceView, loginUrl: string): PageContent {
  const { language, login } = view;
  const values = { application: login.clientName };
  return renderDevicePage(view, {
    title: language.text('device.request.title', values),
    heading: language.html('device.request.title', values),
    facts: renderStart(view),
    ways: html`<a class="button" href="${loginUrl}">${language.text('device.submit')}</a>
${renderDecision(view, 'deny')}`,
  });
}

export function renderDeviceApproval(view: DeviceView, user: string): PageContent {
  const { language, login } = view;
  const values = { application: login.clientName };
  return renderDevicePage(view, {
    title: language.text('device.approval.title', values),
    heading: language.html('device.approval.title', values),
    text: html`<p>${language.html('device.approval.text', { user })}</p>`,
    facts: renderStart(view),
    ways: html`${renderDecision(view, 'allow')}
${renderDecision(view, 'deny')}`,
  });
}

export function renderDeviceResult(view: DeviceView, isAllowed: boolean): PageContent {
  const { language } = view;
  const title = language.text(isAllowed ? 'device.allowed.title' : 'device.denied.title');
  const text = language.text(isAllowed ? 'device.allowed.text' : 'device.denied.text');
  return renderDevicePage(view, { title, heading: html`${title}`, text: html`<p>${text}</p>` });
}

interface DevicePage {
  readonly title: string;
  readonly heading: Html;
  /** A paragraph below the heading. */
  readonly text?: Html;
  readonly facts?: Html;
  readonly ways?: Html;
}

function renderDevicePage(view: DeviceView, { title, heading, text, facts, ways }: DevicePage): PageContent {
  const { language, application } = view;
  return {
    language,
    application,
    title,
    body: html`${renderMark({ application, applicationName: application.name })}
${renderHeading(heading, text)}
${facts}
${ways && html`<div class="ways">\n${ways}</div>`}`,
    footer: renderFooter(view),
  };
}

/** Renders when and where the device has begun: a person who has begun nothing is to notice it. */
function renderStart({ language, login, address, now }: DeviceView): Html {
  const { createdAt, startedFrom } = login;
  const elapsedMs = Math.max(0, now.getTime() - createdAt.getTime());
  const isRecent = elapsedMs < 2 * MINUTE_MS;
  const ago = isRecent
    ? language.ago(Math.floor(elapsedMs / 1_000), 'second')
    : language.ago(Math.floor(elapsedMs / MINUTE_MS), 'minute');
  const network = siteOf(startedFrom).replace(/\/\d+$/, '');
  const key = networkOf(address) === startedFrom ? 'device.started.here' : 'device.started.elsewhere';
  return html`<p>${language.html(key, { ago, network })}</p>
<p>${language.text('device.warning')}</p>`;
}

/** Renders a button in a form of its own. */
function renderDecision({ language, place, formToken }: DeviceView, decision: 'allow' | 'deny'): Html {
  const text = language.text(decision === 'allow' ? 'device.allow' : 'device.deny');
  return html`<form method="post" action="${place.path}">
${renderQuery(place.query)}<input type="hidden" name="token" value="${formToken}"><input type="hidden" name="decision" value="${decision}">
<button${decision === 'deny' && html` class="second"`}>${text}</button>
</form>
`;
}
