/** The guide to the terms of Usher and the reasons behind them. */
import { html } from '../../http/html.ts';

export const CONCEPTS = html`<dl>
<dt>Intent</dt>
<dd>A login that has started: the application, where the person goes back to, and <code>state</code>. It can be completed once, within 30 minutes. <code>authUrl</code> has its ID, so nobody can change in the URL where the token goes.</dd>
<dt>Auth token</dt>
<dd>A token in the redirect to your application. It passes through the browser, so it proves only who has signed in, to one application, for 15 minutes. It is no session: exchange it on your server, with the API key.</dd>
<dt>Session</dt>
<dd>A user in an application, for 15 minutes at a time. There is one live session per user and application: each exchange returns it unchanged. Its ID is a secret; keep it in a cookie that scripts cannot read.</dd>
<dt>Successor</dt>
<dd>The session that a renewal begins in the second half of a session's life. It has a new ID, the current profile and 15 minutes. The renewed session lives until it expires, so requests in flight do not fail. Renewing it again returns the same successor.</dd>
<dt>Why 15 minutes</dt>
<dd>A stolen ID or token soon expires, and a check need not ask the database each time. Users do not notice: renewals keep them signed in for 12 hours, or as long as <code>session_idle_seconds</code> and <code>session_max_age_seconds</code> allow.</dd>
<dt>Cut-off</dt>
<dd>The instant of a revocation. It ends all sessions and tokens of sign-ins up to that instant, even tokens that nobody has exchanged. CheckSession reports it within 5 seconds, or at once with <code>maxStalenessMs</code> 0.</dd>
<dt>Owner</dt>
<dd>The user to whom a webhook belongs and whom others can ask about it. The owner must be a user of the application: one who has signed in to it, or whom an operator has added (<a href="#AdminService.AddApplicationUser">AddApplicationUser</a>, or <code>applicationIds</code> of <a href="#AdminService.CreateUser">CreateUser</a>).</dd>
<dt>User ID</dt>
<dd>The key under which to store a user, because addresses and wallets change. ExchangeToken returns it over RPC, and so do all calls about users.</dd>
<dt>Application and operator</dt>
<dd>An application calls with its API key, and sees its own users, sessions, webhooks and events. An operator calls AdminService with an admin key, and creates applications. Give no admin key to an application.</dd>
</dl>`;
