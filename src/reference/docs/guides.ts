/** The guides of the API reference, and the page of each. */

import { statusOfError } from '../../api/envelope.ts';
import { ERRORS, type ErrorReason } from '../../domain/core/errors.ts';
import { type Html, html } from '../../http/html.ts';
import { ASSURANCE_GUIDE } from './assurance-guide.ts';
import { CONCEPTS } from './concepts.ts';
import { DEVICE_GUIDE } from './device-guide.ts';
import { VARIABLES } from './examples.ts';
import { FLOW } from './flow.ts';
import { MCP_GUIDE } from './mcp-guide.ts';
import { MESSAGE_GUIDE } from './message-guide.ts';
import { OPENID_GUIDE } from './openid-guide.ts';
import { OPERATING_GUIDE } from './operating-guide.ts';
import { QUICK_STARTS } from './quick-starts.ts';
import { SESSION_GUIDE } from './session-guide.ts';
import { CONTROL_PORT, TESTING_CLOCK, TESTING_GUIDE, TESTING_MEMBERS } from './testing-guide.ts';
import { renderCodeBlock, renderTable, renderText } from './text.ts';
import { ADVICE, TROUBLESHOOTING } from './troubleshooting.ts';
import { WEBHOOK_GUIDE } from './webhook-guide.ts';

/** The first lines of every example in TypeScript. */
export const CLIENT_SETUP = [
  "import { env } from 'node:process';",
  "import { createUsherClient } from 'usher-client';",
  "import { createUsherAdminClient } from 'usher-client/admin';",
  '',
  "const { USHER_URL = '', API_KEY = '', ADMIN_KEY = '' } = env;",
  'const client = createUsherClient({ baseUrl: USHER_URL, apiKey: API_KEY });',
  'const admin = createUsherAdminClient({ baseUrl: USHER_URL, adminKey: ADMIN_KEY });',
].join('\n');

export interface ExampleSetup {
  readonly publicUrl: string;
  /** Values of the demo application, by variable. */
  readonly values?: Readonly<Partial<Record<string, string>>>;
  /** The path of the admin key, if Usher runs on its embedded Postgres. Given with `values`. */
  readonly adminKeyFile?: string;
  /** Where this machine gets the other values. Given with `values`. */
  readonly examplesUrl?: string;
}

function renderExports({ publicUrl, values = {}, adminKeyFile, examplesUrl }: ExampleSetup): Html {
  const known = Object.entries(values).flatMap(([name, value]) => (value ? [`export ${name}='${value}'`] : []));
  if (known.length === 0) {
    return html`<p>Set these once. Then every example works as it is, in a shell and in Node.</p>
${renderCodeBlock(`export USHER_URL='${publicUrl}'\nexport CLIENT_ID=client_…  # of an application\nexport API_KEY=usk_…       # of an application\nexport ADMIN_KEY=…         # of the operator: .data/admin-key of a trial`)}`;
  }
  const lines = [
    `export USHER_URL='${publicUrl}'`,
    `export ADMIN_KEY="$(cat '${adminKeyFile}')"`,
    ...known,
    `eval "$(curl -sX POST ${examplesUrl})"`,
  ];
  return html`<p>Paste these. They belong to the demo application. The last line makes what the examples use, change and delete: a user who has just signed in, an event, a webhook and more. It sets a variable for each.
Then every example works as it is, in a shell and in Node. Paste them again after 15 minutes, when the session has ended, or when you have deleted something.</p>
${renderCodeBlock(lines.join('\n'))}`;
}

const renderStart = (setup: ExampleSetup) => html`${renderExports(setup)}
<p>Other variables stand for values of your own. In a path or a query, percent-encode what is reserved there.</p>
<details><summary>All variables</summary>
${renderTable(
  ['Variable', 'Value'],
  Object.entries(VARIABLES).map(([name, value]) => [`\`${name}\``, value]),
)}
</details>
<p>An operation is called by its REST route, or by its RPC: a POST of JSON to <code>/usher.v1.Service/Method</code>, or any client of Connect, gRPC or gRPC-Web.
gRPC reflection is on, so <a href="https://buf.build/docs/cli/installation/"><code>buf curl</code></a> needs no schema; in a clone of Usher it is <code>npx buf curl</code>.
The examples in TypeScript use the client package, which <code>npm run client:pack</code> makes in a clone of Usher. They begin with:</p>
${renderCodeBlock(CLIENT_SETUP)}`;

const LOGIN_GUIDE = html`<ol>
<li><b>Browser to application:</b> wants to sign in</li>
<li><b>Application to Usher:</b> GenerateAuthUrl: redirectUri, state</li>
<li><b>Usher to application:</b> authUrl, for 30 minutes</li>
<li><b>Application to browser:</b> redirect to authUrl</li>
<li><b>Browser to Usher:</b> signs in</li>
<li><b>Usher to browser:</b> redirect to redirectUri with authToken (15 minutes), state, iss</li>
<li><b>Browser to application:</b> opens redirectUri</li>
<li><b>Application to Usher:</b> ExchangeToken: authToken</li>
<li><b>Usher to application:</b> user, session (15 minutes)</li>
</ol>
<ul>
<li>Make a random <code>state</code> for every login, keep it in a cookie, and compare it at the redirect URI. Compare <code>iss</code> with the URL of Usher.</li>
<li>A user who cancels comes back with <code>error=access_denied</code> instead of <code>authToken</code>.</li>
<li>Ask <a href="#SessionService.CheckSession">CheckSession</a> with each request of the user, and <a href="#SessionService.RenewSession">RenewSession</a> in the second half of a session's life.</li>
<li>The client package does all of this: see the <a href="#quick-starts">quick starts</a>.</li>
</ul>`;

function renderAdvice(reason: string): Html | false {
  const advice = ADVICE[reason as ErrorReason];
  return advice !== undefined && html`<p>${renderText(advice)}</p>`;
}

const ERROR_GUIDE = html`<p>Match errors by their <code>reason</code>. Reasons never change; messages may become clearer. In REST an error is:</p>
${renderCodeBlock(`{
  "status": false,
  "message": "Validation failed",
  "reason": "VALIDATION_FAILED",
  "errors": [{ "field": "state", "message": "is required" }]
}`)}
<p>RPCs have the reason in a <code>google.rpc.ErrorInfo</code> detail, and the fields in a <code>google.rpc.BadRequest</code> detail. Some errors of the first day have <code>help</code>, in RPCs a <code>google.rpc.Help</code> detail: the URL of their row below.
A 503 has <code>Retry-After</code>; it is safe to repeat any call that reads, and one that creates something if it has an <code>Idempotency-Key</code>. Every reply has an <code>x-request-id</code>, which the log of Usher has too.</p>
<details><summary>All reasons</summary>
<div class="table" tabindex="0"><table>
<thead><tr><th scope="col">Reason</th><th scope="col">REST</th><th scope="col">RPC</th><th scope="col">Message</th></tr></thead>
<tbody>${Object.entries(ERRORS).map(
  ([reason, [code, message]]) =>
    html`<tr id="error-${reason}"><td><code>${reason}</code></td><td>${String(statusOfError(code, reason))}</td><td>${code}</td><td>${message}${renderAdvice(reason)}</td></tr>\n`,
)}</tbody>
</table></div>
</details>`;

export const LIST_EXAMPLE = `let pageToken = '';
do {
  const page = await client.events.listEvents({ pageSize: 100, pageToken });
  for (const event of page.events) console.log(event.eventId);
  pageToken = page.nextPageToken;
} while (pageToken);`;

const LIST_GUIDE = html`<p>${renderText(
  'Lists are newest first. `pageSize` is 1 to 100, and 50 if you leave it out. `nextPageToken` is empty on the last page; otherwise send it as `pageToken`, with the same filters, for the next.',
)}</p>
<p>Items that are added while you read pages do not make you skip or repeat others.</p>
${renderCodeBlock(LIST_EXAMPLE)}`;

const UPDATE_GUIDE = html`<p>${renderText(
  'An update changes the fields that are in the request, and no other. In REST, `null` clears an optional field. An RPC may name the fields to change in `updateMask`; a field that the mask names and the request lacks is cleared.',
)}</p>`;

const LIMIT_GUIDE = renderTable(
  ['What', 'Limit'],
  [
    ['Login intent', '30 minutes'],
    ['Auth token', '15 minutes; may be exchanged more than once'],
    ['Session', '15 minutes, renewable for 12 hours unless the operator sets another time'],
    ['Answer of CheckSession', 'at most 5 s old, or less with `maxStalenessMs`'],
    ['Revoked API key', 'works for 5 s at most'],
    ['Request body', '64 KiB; a longer one gets 413'],
    ['Duration of a call', '5 s unless the operator sets another time, or less: `Connect-Timeout-Ms`, `grpc-timeout`'],
    ['Concurrent calls', 'if a process has too many, further calls get 503 with `Retry-After`'],
    ['Webhook messages', 'can be delivered again for 14 days'],
  ],
);

export interface Guide {
  readonly id: string;
  readonly title: string;
  readonly body: Html;
}

/** Returns the pages of guides, in reading order. */
export const renderGuides = (setup: ExampleSetup) => [
  {
    path: 'docs',
    title: 'Start',
    intro: html`<p class="lead">Your application sends people to Usher. Usher signs them in and sends them back with a token. You exchange it for a user and a session.</p>
${FLOW}`,
    guides: [
      { id: 'quick-starts', title: 'Quick starts', body: QUICK_STARTS },
      { id: 'start', title: 'First calls', body: renderStart(setup) },
    ],
  },
  {
    path: 'docs/concepts',
    title: 'Concepts',
    intro: html`<p class="lead">The words of this reference, and what holds for every call.</p>`,
    guides: [
      { id: 'concepts', title: 'Terms', body: CONCEPTS },
      { id: 'login', title: 'The login', body: LOGIN_GUIDE },
      { id: 'lists', title: 'Lists', body: LIST_GUIDE },
      { id: 'updates', title: 'Updates', body: UPDATE_GUIDE },
      { id: 'limits', title: 'Limits', body: LIMIT_GUIDE },
    ],
  },
  {
    path: 'docs/errors',
    title: 'Errors',
    intro: html`<p class="lead">How a call says why it was refused, and what to do about it.</p>`,
    guides: [
      { id: 'troubleshooting', title: 'If it does not work', body: TROUBLESHOOTING },
      { id: 'errors', title: 'The form of errors', body: ERROR_GUIDE },
    ],
  },
  {
    path: 'docs/openid-connect',
    title: 'OpenID Connect',
    intro: html`<p class="lead">Sign people in to products that you have not written.</p>`,
    guides: [{ id: 'openid-connect', title: 'Connect a product', body: OPENID_GUIDE }],
  },
  {
    path: 'docs/devices',
    title: 'Terminals and machines',
    intro: html`<p class="lead">Sign people in where there is no browser, and services without a person.</p>`,
    guides: [{ id: 'devices', title: 'Devices without a browser', body: DEVICE_GUIDE }],
  },
  {
    path: 'docs/assurance',
    title: 'Assurance (MFA)',
    intro: html`<p class="lead">Demand more than one factor, for an application or for one login.</p>`,
    guides: [{ id: 'assurance', title: 'Levels of assurance', body: ASSURANCE_GUIDE }],
  },
  {
    path: 'docs/mcp',
    title: 'MCP servers',
    intro: html`<p class="lead">Let people connect their AI assistants to your server.</p>`,
    guides: [{ id: 'mcp', title: 'Protect an MCP server', body: MCP_GUIDE }],
  },
  {
    path: 'docs/webhooks',
    title: 'Webhooks',
    intro: html`<p class="lead">Usher tells your server what has changed.</p>`,
    guides: [{ id: 'webhooks', title: 'Receive messages', body: WEBHOOK_GUIDE }],
  },
  {
    path: 'docs/messages',
    title: 'Messages',
    intro: html`<p class="lead">Your service reads what has changed, without an endpoint.</p>`,
    guides: [{ id: 'messages', title: 'Read messages', body: MESSAGE_GUIDE }],
  },
  {
    path: 'docs/session-checks',
    title: 'Sessions in memory',
    intro: html`<p class="lead">Your service checks a session on every request, without a call.</p>`,
    guides: [{ id: 'session-checks', title: 'Check sessions in memory', body: SESSION_GUIDE }],
  },
  {
    path: 'docs/testing',
    title: 'Testing',
    intro: html`<p class="lead">The real Usher in your tests, with a clock that you move, a mailbox and outages. Nothing sleeps.</p>`,
    guides: [
      { id: 'testing', title: 'Test your application', body: TESTING_GUIDE },
      { id: 'testing-members', title: 'What a test can do', body: TESTING_MEMBERS },
      { id: 'testing-clock', title: 'The clock', body: TESTING_CLOCK },
      { id: 'control-port', title: 'Other languages', body: CONTROL_PORT },
    ],
  },
  {
    path: 'docs/operating',
    title: 'Operating',
    intro: html`<p class="lead">For whoever runs Usher: from the first production to upgrades.</p>`,
    guides: [{ id: 'operating', title: 'Where to read on', body: OPERATING_GUIDE }],
  },
];
