/** Whole applications that sign a user in. Their files are in `test/examples`, and a test runs each. */
import { readFileSync } from 'node:fs';
import { html } from '../../http/html.ts';
import { renderCodeBlock } from './text.ts';

/** A copy that `npm run generate` writes, because the container image has no `test` folder. */
const FILE = new URL('../../../gen/quick-starts.json', import.meta.url);

interface QuickStart {
  readonly title: string;
  /** What the application is, as an operator says in the console. */
  readonly kind: 'server' | 'own-page' | 'product' | 'single-page';
  readonly text: string;
}

export const ALL_QUICK_STARTS: readonly QuickStart[] = JSON.parse(readFileSync(FILE, 'utf8'));

const LOGOUT = ',\n    "postLogoutRedirectUris":["http://127.0.0.1/"]';
const create = (fields: string) => `reply=$(curl -s "$USHER_URL/usher.v1.AdminService/CreateApplication" \\
  -H "X-Admin-Key: $ADMIN_KEY" -H 'Content-Type: application/json' \\
  -d '{"name":"Shop","redirectUris":["http://127.0.0.1/callback"],"openIdConnect":true${fields}}')
export CLIENT_ID=$(echo "$reply" | grep -o 'client_[0-9a-f]*')`;

/** The commands that create its application, if the demo application does not do. */
export const CREATIONS: Readonly<Partial<Record<QuickStart['kind'], string>>> = {
  product: `# Its application may use OpenID Connect. Needs ADMIN_KEY.
${create(LOGOUT)} API_KEY=$(echo "$reply" | grep -o 'usk_[A-Za-z0-9_-]*')\n`,
  'single-page': `# A page keeps no secret: its application is a public client. Needs ADMIN_KEY.
${create(`${LOGOUT},"publicClient":true`)}\n`,
};

/** Returns the commands that write the code of a schema for Python into `../shop`. */
export const generatePython = (schema: string) => `mkdir -p ../shop
# With pip, on any system. Debian and Ubuntu have the packages python3-grpcio and protobuf-compiler-grpc instead.
python3 -m venv ../shop/env && . ../shop/env/bin/activate && pip install grpcio-tools
python -m grpc_tools.protoc -I proto --python_out=../shop --grpc_python_out=../shop usher/v1/${schema}`;

/** Returns the commands that write the code of a schema for Go into `../shop`. */
export const generateGo = (schema: string) => `go install google.golang.org/protobuf/cmd/protoc-gen-go@latest
go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@latest
PATH=$PATH:$(go env GOPATH)/bin npx buf generate proto --path proto/usher/v1/${schema} --template '{
  "version": "v2",
  "managed": { "enabled": true, "override": [{ "file_option": "go_package", "value": "shop/usherv1" }] },
  "plugins": [
    { "local": "protoc-gen-go", "out": "../shop", "opt": "module=shop" },
    { "local": "protoc-gen-go-grpc", "out": "../shop", "opt": "module=shop" }
  ]
}'`;

/** The commands that set each one up, from a clone of Usher. */
export const SETUPS: Readonly<Record<string, string>> = {
  Express: `npm run client:pack ../shop
cd ../shop && npm install ./usher-client-*.tgz express
# Save the file below as app.mts.
npx tsx app.mts`,
  Hono: `mkdir -p ../shop && cd ../shop && npm install hono @hono/node-server
# Save the file below as app.mts.
npx tsx app.mts`,
  'Next.js': `npx create-next-app@latest ../shop --yes
npm run client:pack ../shop
cd ../shop && npm install ./usher-client-*.tgz
# Save the file below as app/usher.ts. It names four short files beside it: write them, too.
npx next dev --hostname 127.0.0.1  # then open /me`,
  'Python over gRPC': `${generatePython('auth.proto')}
# Save the file below as sign_in.py in ../shop.
cd ../shop && python sign_in.py`,
  'Go over gRPC': `${generateGo('auth.proto')}
cd ../shop && go mod init shop
# Save the file below as main.go.
go mod tidy && go run .`,
  'Single-page app': `mkdir -p ../shop && cd ../shop && npm install oidc-client-ts vite
# Save the file below as index.html.
VITE_USHER_URL=$USHER_URL VITE_CLIENT_ID=$CLIENT_ID npx vite --host 127.0.0.1 --port 3000`,
  'Login page of your own': `mkdir -p ../login && cd ../login && npm install hono @hono/node-server
# The password of ada@example.com for a trial: correct horse
node -p "JSON.stringify({'ada@example.com': 'salt:' + crypto.scryptSync('correct horse', 'salt', 32).toString('hex')})" > passwords.json
# Save the file below as app.mts. It needs ADMIN_KEY.
PASSWORDS_FILE=passwords.json npx tsx app.mts
# Start Usher again with AUTH_PAGE_URL=http://127.0.0.1:4000/. Then start an application, such as that of Express.`,
  'Go with OpenID Connect': `mkdir -p ../shop && cd ../shop && go mod init shop
# Save the file below as main.go.
go mod tidy && go run .`,
};

export const QUICK_STARTS = html`<p>Each is a whole application, for the redirect URI <code>http://127.0.0.1/callback</code>, which matches any port. The demo application has it.
Set <code>USHER_URL</code>, <code>CLIENT_ID</code> and <code>API_KEY</code>, as <a href="#start">below</a>. Begin in a clone of Usher, and then open <code>http://127.0.0.1:3000</code>.</p>
${ALL_QUICK_STARTS.map(
  ({ title, kind, text }) =>
    html`<details><summary>${title}</summary>${renderCodeBlock((CREATIONS[kind] ?? '') + (SETUPS[title] ?? ''))}${renderCodeBlock(text, { marksVariables: false })}</details>\n`,
)}`;
