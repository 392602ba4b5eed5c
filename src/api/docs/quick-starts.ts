/** Whole applications that sign a user in. They are those of `test/examples`, where a test runs each. */
import { readFileSync } from 'node:fs';
import { html } from '../../http/html.ts';
import { renderCodeBlock } from './text.ts';

/** Written by `npm run generate`: the image has no tests. */
const FILE = new URL('../../../gen/quick-starts.json', import.meta.url);
const quickStarts: readonly { title: string; text: string }[] = JSON.parse(readFileSync(FILE, 'utf8'));

export const QUICK_STARTS = html`<p>Each is a whole application, for the redirect URI <code>http://127.0.0.1/callback</code>, which matches any port. Set <code>CLIENT_ID</code> and <code>API_KEY</code>, run it, and open <code>http://127.0.0.1:3000</code>.
Express and Next.js use the client package, which <code>npm run client:pack</code> makes in a clone of Usher.</p>
${quickStarts.map(
  ({ title, text }) =>
    html`<details><summary>${title}</summary>${renderCodeBlock(text, { marksVariables: false })}</details>\n`,
)}`;
