/** Whole applications that sign a user in. Their files are in `test/examples`, and a test runs each. */
import quickStarts from '../../../gen/quick-starts.json' with { type: 'json' };
import { html } from '../../http/html.ts';
import { renderCodeBlock } from './text.ts';

export const QUICK_STARTS = html`<p>Each is a whole application, for the redirect URI <code>http://127.0.0.1/callback</code>, which matches any port. The demo application has it.
Set <code>USHER_URL</code>, <code>CLIENT_ID</code> and <code>API_KEY</code>, as <a href="#start">below</a>. Begin in a clone of Usher, and then open <code>http://127.0.0.1:3000</code>.</p>
${quickStarts.map(
  ({ title, creation, setup, text }) =>
    html`<details><summary>${title}</summary>${renderCodeBlock(creation + setup)}${renderCodeBlock(text, { marksVariables: false })}</details>\n`,
)}`;
