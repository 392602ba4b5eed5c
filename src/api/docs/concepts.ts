/** The guide to the words of Usher, and why it is as it is. */
import { html } from '../../http/html.ts';
import { FLOW } from './flow.ts';

export const CONCEPTS = html`${FLOW}
<dl>
<dt>Intent</dt>
<dd>A login that has started: the application, where the person goes back to, and <code>state</code>. It can be completed once, within 30 minutes. <code>authUrl</code> names it, so nothing that a person can change decides where the token goes.</dd>
<dt>Auth token</dt>
<dd>What the redirect brings. It passes through the browser, so it says only who has signed in, for one application, for 15 minutes. It is no session: exchange it on your server, with the API key.</dd>
<dt>Session</dt>
<dd>A user in an application, for 15 minutes at a time. There is one live session per user and application: each exchange returns it unchanged. Its ID is a secret; keep it in a cookie that scripts cannot read.</dd>
<dt>Successor</dt>
<dd>What a renewal begins in the second half of a session's life: a new ID, the current profile, 15 minutes more. The renewed session lives on until it expires, so requests under way do not fail. Renewed twice, it has the same successor.</dd>
<dt>Why 15 minutes</dt>
<dd>A stolen ID or token is worth little, and a check need not ask a database each time. People do not notice: renewals keep them signed in for 12 hours, or as long as <code>session_idle_seconds</code> and <code>session_max_age_seconds</code> say.</dd>
<dt>Cut-off</dt>
<dd>A revocation stores an instant. Sessions and tokens of sign-ins up to it have ended, whether or not anybody has listed them. A check tells of it within 5 seconds, or at once with <code>maxStalenessMs</code> 0.</dd>
<dt>Owner</dt>
<dd>The user to whom a webhook belongs, so that somebody can be asked about it. It must be a user of the application: one who has signed in to it, or whom an operator has added (<a href="#AdminService.AddApplicationUser">AddApplicationUser</a>, or <code>applicationIds</code> of <a href="#AdminService.CreateUser">CreateUser</a>).</dd>
<dt>User ID</dt>
<dd>What to store a user under: addresses and wallets change. ExchangeToken has it over RPC, and every call about users.</dd>
<dt>Application and operator</dt>
<dd>An application calls with its API key, and sees its own users, sessions, webhooks and events. An operator calls AdminService with an admin key, and creates applications. Give no admin key to an application.</dd>
</dl>`;
