/** The guide to sessions that a service checks in its memory. The programs are in `test/examples/sessions`, and a test runs each. */
import readers from '../../../gen/session-readers.json' with { type: 'json' };
import { html } from '../../http/html.ts';
import { renderCodeBlock } from './text.ts';

const LIST_COMMAND = `curl "$USHER_URL/api/sessions/revocations" \\
  -H "X-API-Key: $API_KEY"`;

export const SESSION_GUIDE = html`<p>A service that checks a session on every request keeps the live answers of <a href="#SessionService.CheckSession">CheckSession</a>, and asks four times per bound what has ended since. With a bound of 2 s, no request that begins more than 2 s after a revocation was answered is served for a revoked session, whatever fails. A request costs no call. Bounds are 500 ms to 5 s.</p>
${renderCodeBlock(LIST_COMMAND)}
<p><a href="#SessionService.ListRevocations">ListRevocations</a> returns what has ended sessions and grants of the application since <code>until</code> of the last answer. Whatever was acknowledged before the call was sent is in its answer, or in an earlier one. Three rules keep the bound. Take an answer from memory only if</p>
<ol>
<li>you <b>sent</b> the last successful call of ListRevocations at most the bound ago. The moment of its answer does not count: a proxy may have held it back. Measure with a clock that nobody sets;</li>
<li>you asked CheckSession, with <code>maxStalenessMs</code> 0, after the first call of the unbroken chain was answered. The first call has no <code>since</code>, and each later one has <code>until</code> of the last answer;</li>
<li>no revocation of the user has a <code>cutoffAt</code> at or after <code>signedInAt</code> of the session.</li>
</ol>
<p>Otherwise ask CheckSession, with 0. A slow or lost Usher then costs calls, and never a wrong answer.</p>
<ul>
<li>Remember revocations for 20 minutes: an answer of CheckSession that was on its way may be older.</li>
<li><code>everyUser</code> ends nobody: forget all answers, and ask again.</li>
<li>After <code>CURSOR_EXPIRED</code> forget all answers, and begin without <code>since</code>.</li>
<li>Keep live answers only, for 15 minutes at most, and none beyond <code>expiresAt</code>.</li>
<li>Forget a session that your own service has ended, before you answer that.</li>
</ul>
<p>For access tokens of OpenID Connect do the same with <a href="#TokenService.IntrospectToken">IntrospectToken</a>, <code>sub</code> and <code>authTime</code>. Once a <code>grantId</code> is listed, its tokens have ended. The answer of IntrospectToken may be 5 s old: keep it only if you asked at least 5 s after the first call of the chain was answered, and after an <code>everyUser</code>. Ask each time for a token without a <code>grantId</code>, and for one whose <code>clientId</code> is that of another application: it also ends with the access of its user to that application.</p>
<p>The client package in TypeScript does this with <code>boundMs</code>. These programs do it in other languages:</p>
${readers.map(
  ({ title, setup, text }) =>
    html`<details><summary>${title}</summary>${renderCodeBlock(setup)}${renderCodeBlock(text, { marksVariables: false })}</details>\n`,
)}`;
