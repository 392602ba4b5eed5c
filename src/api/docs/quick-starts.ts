/** Whole applications that sign a user in. Their files are in `test/examples`, and a test runs each. */
import { readFileSync } from 'node:fs';
import { html } from '../../http/html.ts';
import { renderCodeBlock } from './text.ts';

/** A copy that `npm run generate` writes, because the container image has no `test` folder. */
const FILE = new URL('../../../gen/quick-starts.json', import.meta.url);
const quickStarts: readonly { title: string; text: string }[] = JSON.parse(readFileSync(FILE, 'utf8'));

/** The commands that set each one up, from a clone of Usher. */
export const SETUPS: Readonly<Record<string, string>> = {
  Express: `npm run client:pack ../shop
cd ../shop && npm install ./usher-client-*.tgz express
npx tsx app.mts  # the file below`,
  Hono: `mkdir -p ../shop && cd ../shop && npm install hono @hono/node-server
npx tsx app.mts  # the file below`,
  'Next.js': `npx create-next-app@latest ../shop --yes
npm run client:pack ../shop
cd ../shop && npm install ./usher-client-*.tgz
# Save the file below as app/usher.ts. It names four short files beside it: write them, too.
npx next dev --hostname 127.0.0.1  # then open /me`,
  'Python over gRPC': `mkdir -p ../shop
# With pip, on any system. The file below tells how to do without: with the packages of Debian and Ubuntu.
python3 -m venv ../shop/env && . ../shop/env/bin/activate && pip install grpcio-tools
python -m grpc_tools.protoc -I proto --python_out=../shop --grpc_python_out=../shop usher/v1/auth.proto
cd ../shop && python sign_in.py  # the file below`,
};

export const QUICK_STARTS = html`<p>Each is a whole application, for the redirect URI <code>http://127.0.0.1/callback</code>, which matches any port. The demo application has it.
Set <code>USHER_URL</code>, <code>CLIENT_ID</code> and <code>API_KEY</code>, as above. Begin in a clone of Usher, and then open <code>http://127.0.0.1:3000</code>.</p>
${quickStarts.map(
  ({ title, text }) =>
    html`<details><summary>${title}</summary>${renderCodeBlock(SETUPS[title] ?? '')}${renderCodeBlock(text, { marksVariables: false })}</details>\n`,
)}`;
