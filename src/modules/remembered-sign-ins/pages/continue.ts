import { showEmail } from '../../../config/email-address.ts';
import { html } from '../../../http/html.ts';
import type { PageContent } from '../../../login-page/pages/document.ts';
import {
  renderAlert,
  renderCancel,
  renderFooter,
  renderHeading,
  renderHidden,
  renderMark,
  renderReturn,
} from '../../../login-page/pages/parts.ts';
import type { FormView } from '../../../login-page/pages/view.ts';
import { isolate, renderAddress } from '../../../texts/isolate.ts';
import type { RememberedSignIn } from '../domain/find-remembered-sign-in.ts';

interface ContinueView extends FormView {
  readonly signIn: RememberedSignIn;
  readonly now: Date;
}

/** Renders the offer to continue the sign-in that this browser remembers. */
export function renderContinue(view: ContinueView): PageContent {
  const { language, path, signIn, applicationName: application } = view;
  const email = showEmail(signIn.email);
  const name = signIn.name ?? email;
  const [initial = ''] = name.trim();
  const time = describeAge(signIn.authenticatedAt, view.now, language.tag);
  return {
    language,
    title: language.text('continue.titleBar', { email, application }),
    body: html`${renderMark(view)}
${renderHeading(language.html('continue.title'), renderReturn(view))}
${renderAlert(view.alert)}
<div class="person">
<span class="mark round" aria-hidden="true">${initial.toUpperCase()}</span>
<p><strong>${isolate(name)}</strong>${signIn.name !== null && html`<br><span class="soft small">${renderAddress(signIn.email)}</span>`}<br><span class="soft small">${language.html('continue.lastSignIn', { time })}</span></p>
</div>
<form class="ways" method="post" action="${path}/continue" data-busy="${language.text('code.busy')}">
${renderHidden(view)}<button>${language.html('continue.submit', { name: shortenName(signIn.name, email) })}</button>
</form>
<form class="also" method="post" action="${path}/forget">
${renderHidden(view)}${language.text('continue.question')} <button class="quiet">${language.text('continue.other')}</button>
</form>
${renderCancel(view)}`,
    footer: renderFooter(view),
  };
}

/** Returns the first word of a name. Not a title, such as that of Dr. Lovelace. */
function shortenName(name: string | null, email: string): string {
  const given = name?.trim() ?? '';
  const [first = ''] = given.split(/\s+/);
  return (first.endsWith('.') ? given : first) || email.slice(0, email.lastIndexOf('@'));
}

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** Returns the time since the instant, such as `2 hours ago`. */
function describeAge(instant: Date, now: Date, tag: string): string {
  const seconds = Math.max(0, (now.getTime() - instant.getTime()) / 1_000);
  const [unit, length] = UNITS.find(([, most]) => seconds >= most) ?? (['minute', 60] as const);
  return new Intl.RelativeTimeFormat(tag, { numeric: 'auto' }).format(-Math.floor(seconds / length), unit);
}
