/** The guides to tests of applications. The files are in `test/examples`, and tests run each. */
import testFiles from '../../../gen/test-files.json' with { type: 'json' };
import { html } from '../../http/html.ts';
import { renderCodeBlock, renderTable } from './text.ts';

const START_CONTROL_PORT = `npx usher-testing --env LOGIN_METHODS=email
{"url":"http://localhost:41231","adminKey":"…","controlUrl":"http://127.0.0.1:41232","controlKey":"…"}

curl "$CONTROL_URL/clock/advance" -H "Authorization: Bearer $CONTROL_KEY" \\
  --json '{"duration":"16m"}'`;

const code = (text: string) => renderCodeBlock(text, { marksVariables: false });

export const TESTING_GUIDE = html`<p>The package <code>usher-testing</code> has Usher itself, and a Postgres. Each test file gets a server with a database of its own in a fraction of a second, on a free port of this machine. It does not start with <code>NODE_ENV=production</code>, and nothing in a production Usher knows it.</p>
${code(testFiles.first)}
<p>Two files serve all tests in JavaScript. With the first, beside <code>package.json</code>, Postgres starts once for all test files. The second belongs beside the tests:</p>
${testFiles.shared.map(({ name, text }) => html`<details><summary>${name}</summary>${code(text)}</details>\n`)}
<p>Below is a test file for each of the <a href="#quick-starts">quick starts</a>. Begin in a clone of Usher. <code>../shop</code> has the application.</p>
${testFiles.tests.map(
  ({ title, setup, text }) =>
    html`<details><summary>${title}</summary>${renderCodeBlock(setup)}${code(text)}</details>\n`,
)}
<p>If an application runs in the process of the test, let <a href="#testing-clock">its time follow</a> that of Usher. One in a process of its own keeps the real time, and the client package keeps an answer for up to 2.5 s of it.</p>`;

const MEMBERS = renderTable(
  ['Member', 'What it does'],
  [
    ['`url`, `adminKey`, `admin`', 'The address, the admin key, and a client of AdminService.'],
    [
      '`createApplication`',
      '`(fields)` As the call. By default, everybody may sign up. Answers `clientId`, `apiKey`, and `client` of the client package.',
    ],
    ['`createUser`', '`(fields)` As the call. Makes up an e-mail address that no other user of the server has.'],
    [
      '`signIn`',
      '`(authUrl, user, how)` Completes the login to which the URL leads, also one of OpenID Connect, without a browser. `user` is an ID or an e-mail address. Answers `redirectUrl`, `authToken` or `code`, and `state`. What production refuses is refused with the same `reason`.',
    ],
    [
      '`how` of `signIn`',
      '`method`: `email`, `passkey`, `wallet` or the ID of a provider. `assurance`: `TWO_FACTORS` or `PHISHING_RESISTANT`. `remember`: true to remember the sign-in.',
    ],
    [
      '`mails`, `nextMail`',
      '`(address)` What was sent: `subject`, `text`, `html`, `code`, `links`. `nextMail` waits for the next one.',
    ],
    [
      '`outage`',
      '`(kind)` `database`: Postgres is cut off, and calls get 503. `slow`: each statement takes 2 s. `refused`: the port is closed. Dispose of the result to end it: `await using`.',
    ],
    [
      '`settle()`',
      'Resolves when every webhook has had its attempt, every e-mail was sent, and every due job has run.',
    ],
    [
      '`receiveWebhooks`',
      '`(application, types)` Starts an endpoint, creates the webhook and verifies signatures. `next(type)` waits for a message, `all()` returns those so far, `fail(times, status)` refuses the next ones.',
    ],
    ['`auditEvents`', '`(filter)` The audit log, to show that nothing else has happened.'],
    ['`reset`', '`()` Empties everything but the applications and their keys. The clock stays.'],
  ],
);

const OPTIONS = renderTable(
  ['Option', 'What it sets'],
  [
    ['`env`', 'Settings, checked as in production.'],
    ['`applications`', 'A file of applications, as `APPLICATIONS_FILE`.'],
    [
      '`log`',
      '`silent`, which is the default, `failures`: its warnings and errors if the test that has started it fails, or `all`.',
    ],
    ['`at`', 'The first time of the clock.'],
    ['`databaseUrl`', 'A Postgres of yours on a loopback address, instead of the embedded one.'],
  ],
);

export const TESTING_CLOCK = html`<p><code>usher.clock</code> runs with real time until you <code>freeze()</code> it; <code>run()</code> lets it go on. <code>advance('16m')</code> and <code>set(date)</code> move it, forwards only. A duration is a number of milliseconds, or <code>90s</code>, <code>16m</code>, <code>12h</code>, <code>90d</code>.</p>
<p>When <code>advance</code> has resolved, everything is as if that time had passed: sessions, codes, keys and grants have expired, webhooks were tried again when they were due, and the jobs have run. Timeouts of calls stay real.</p>
<p><code>usher.clock.follow(vi)</code> sets the <code>Date</code> of the test to Usher’s, at once and after every move. A token that Usher issued at 10:16 is not valid yet where it is 10:00. In Playwright: <code>page.clock.setSystemTime(usher.clock.now())</code>.</p>`;

export const CONTROL_PORT = html`<p><code>npx usher-testing</code> starts the same server for tests in other languages. It prints a line of JSON when it is ready. <code>--env</code>, <code>--applications</code>, <code>--at</code>, <code>--log</code> and <code>--database-url</code> are the options above. It ends on SIGTERM, on SIGINT, by <code>/stop</code>, and at the end of its standard input if that is a pipe: then it ends with the tests, however these end.</p>
${renderCodeBlock(START_CONTROL_PORT)}
<p>Each member has a path, and takes its parameters as JSON over POST:</p>
${renderTable(
  ['Path', 'Body', 'Answer'],
  [
    ['`/create-application`, `/create-user`', 'the fields of the call', 'the application with its key; the user'],
    ['`/sign-in`', '`authUrl`, `user`, `how`', '`redirectUrl`, `authToken` or `code`, `state`'],
    ['`/mails`, `/next-mail`', '`address`', '`mails`; the e-mail'],
    ['`/clock/advance`', '`duration`', '`now`, as from all paths of the clock'],
    ['`/clock/set`', '`date`', ''],
    ['`/clock/now`, `/clock/freeze`, `/clock/run`', '', ''],
    ['`/outage`, `/outage/end`', '`kind`', ''],
    ['`/settle`, `/reset`, `/stop`', '', ''],
    ['`/receive-webhooks`', '`application`: a client ID, `types`', '`webhookId`'],
    ['`/webhooks/next`', '`webhookId`, `type`', 'the message'],
    ['`/webhooks/all`', '`webhookId`', '`messages`'],
    ['`/webhooks/fail`', '`webhookId`, `times`, `status`', ''],
    ['`/audit-events`', 'the filter of ListAuditEvents', '`auditEvents`'],
  ],
)}
<p>An error has <code>reason</code> and <code>message</code>. What Usher refuses has the status and the reason that it has over REST.</p>
${renderTable(
  ['Status', 'Reason', 'Why'],
  [
    ['400', '`VALIDATION_FAILED`', 'A parameter is missing, unknown or of another type. `errors` names it.'],
    ['400', '`INVALID_HOST`', '`Host` is not 127.0.0.1 or localhost with the port.'],
    ['401', '`INVALID_CONTROL_KEY`', 'The request has no `Authorization: Bearer` with the key.'],
    ['403', '`ORIGIN_NOT_ALLOWED`', 'A web page has sent the request.'],
    ['404, 405', '`NOT_FOUND`, `METHOD_NOT_ALLOWED`', 'There is no such path, or it was not a POST.'],
    ['409', '`MEMBER_FAILED`', '`message` says what has failed, such as that no e-mail came within 5 s.'],
    ['413, 415', '`PAYLOAD_TOO_LARGE`, `UNSUPPORTED_MEDIA_TYPE`', 'The body has more than 64 KiB, or is not JSON.'],
  ],
)}`;

export const TESTING_MEMBERS = html`<p><code>await using usher = await startUsher(options)</code> stops the server at the end of the block, and drops its database. What it answers has these members:</p>
${MEMBERS}
<p>It takes these options:</p>
${OPTIONS}`;
