/** The guide to messages over a connection of the application. The readers are in `test/examples/messages`, and a test runs each. */
import readers from '../../../gen/message-readers.json' with { type: 'json' };
import { html } from '../../http/html.ts';
import { renderCodeBlock, renderTable } from './text.ts';

export const WATCH_COMMAND = `buf curl "$USHER_URL/usher.v1.MessageService/WatchMessages" \\
  -H "X-API-Key: $API_KEY" \\
  -d '{"cursor":"oldest"}'`;

export const MESSAGE_GUIDE = html`<p>A service behind a firewall needs no endpoint: it reads what its <a href="#webhooks">webhooks</a> would get over a connection of its own, as a stream of gRPC, gRPC-Web or Connect.
The operator turns the messages of the application on with <code>messageFeed</code> of <a href="#AdminService.UpdateApplication">UpdateApplication</a>. From then on they are kept for 14 days.</p>
${renderCodeBlock(WATCH_COMMAND)}
<p><code>usher.v1.MessageService/WatchMessages</code> answers at once with a cursor, and then with messages as they come. <a href="#MessageService.ListMessages">ListMessages</a> returns one page, also over REST. Their <code>data</code> is that of <a href="#webhooks">webhooks</a>.</p>
<ul>
<li>Store the <code>cursor</code> of each response in the transaction that has the effects of its messages. Then each message has its effects once. Otherwise handle each <code>messageId</code> once: a message may come again.</li>
<li>Store the cursor of a heartbeat, too. A cursor expires together with the messages after it.</li>
<li>Messages are in order: none appears before one that you have read. The messages of an erased user are gone; <code>user.deleted</code> follows.</li>
<li>After <code>CURSOR_EXPIRED</code> messages are missing. Read your lists again, and then watch without a cursor.</li>
</ul>
${renderTable(
  ['Field', 'Value'],
  [
    [
      '`cursor`',
      'The last one that you have stored. `oldest`: from the oldest message that is kept. Empty: from now on.',
    ],
    ['`eventTypes`', 'As in CreateWebhook; empty for all.'],
    ['`heartbeatSeconds`', '5 to 60; 15 when absent. A proxy must not end connections sooner that are idle.'],
  ],
)}
<p>A stream ends after 30 minutes, and with <code>UNAVAILABLE</code> when its process stops: watch again, from the last cursor, after a random wait. An application has 20 streams per process.
The client package does all of this. These programs store their cursor in a file:</p>
${readers.map(
  ({ title, setup, text }) =>
    html`<details><summary>${title}</summary>${renderCodeBlock(setup)}${renderCodeBlock(text, { marksVariables: false })}</details>\n`,
)}`;
