/** Writes what is generated from the RPCs, the examples and the pages about products. Run by `npm run generate`. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { OPERATIONS } from './api/catalogue.ts';
import { VERSION } from './config/version.ts';
import { createDescribedProcedures } from './reference/described-procedures.ts';
import { readComments } from './reference/openapi/comments.ts';
import { describeConnect } from './reference/openapi/connect-document.ts';
import { describeRest } from './reference/openapi/rest-document.ts';

const info = { version: VERSION, license: { name: 'MIT', identifier: 'MIT' } };
const commentOf = readComments();

/** What `npm run generate` writes of `test/examples` for the API reference and the console: the image has no `test` folder. */
const LOGOUT = ',\n    "postLogoutRedirectUris":["http://127.0.0.1/"]';
const create = (fields: string) => `reply=$(curl -s "$USHER_URL/usher.v1.AdminService/CreateApplication" \\
  -H "X-Admin-Key: $ADMIN_KEY" -H 'Content-Type: application/json' \\
  -d '{"name":"Shop","redirectUris":["http://127.0.0.1/callback"],"openIdConnect":true${fields}}')
export CLIENT_ID=$(echo "$reply" | grep -o 'client_[0-9a-f]*')`;

/** The commands that create its application, if the demo application does not do. */
const CREATIONS: Readonly<Record<string, string>> = {
  product: `# Its application may use OpenID Connect. Needs ADMIN_KEY.
${create(LOGOUT)} API_KEY=$(echo "$reply" | grep -o 'usk_[A-Za-z0-9_-]*')\n`,
  'single-page': `# A page keeps no secret: its application is a public client. Needs ADMIN_KEY.
${create(`${LOGOUT},"publicClient":true`)}\n`,
};

/** Returns the commands that write the code of schemas for Python into `../shop`. */
const generatePython = (...schemas: readonly string[]) => `mkdir -p ../shop
# With pip, on any system. Debian and Ubuntu have the packages python3-grpcio and protobuf-compiler-grpc instead.
python3 -m venv ../shop/env && . ../shop/env/bin/activate && pip install grpcio-tools
python -m grpc_tools.protoc -I proto --python_out=../shop --grpc_python_out=../shop ${schemas.map((schema) => `usher/v1/${schema}`).join(' ')}`;

/** Returns the commands that write the code of schemas for Go into `../shop`. */
const generateGo = (...schemas: readonly string[]) => `go install google.golang.org/protobuf/cmd/protoc-gen-go@latest
go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@latest
PATH=$PATH:$(go env GOPATH)/bin npx buf generate proto ${schemas.map((schema) => `--path proto/usher/v1/${schema}`).join(' ')} --template '{
  "version": "v2",
  "managed": { "enabled": true, "override": [{ "file_option": "go_package", "value": "shop/usherv1" }] },
  "plugins": [
    { "local": "protoc-gen-go", "out": "../shop", "opt": "module=shop" },
    { "local": "protoc-gen-go-grpc", "out": "../shop", "opt": "module=shop" }
  ]
}'`;

/** `kind` is what the application is, as an operator says in the console. `setup` begins in a clone of Usher. */
const QUICK_START_FILES = [
  {
    title: 'Express',
    kind: 'server',
    file: 'express/app.ts',
    setup: `npm run client:pack ../shop
cd ../shop && npm install ./usher-client-*.tgz express
# Save the file below as app.mts.
npx tsx app.mts`,
  },
  {
    title: 'Hono',
    kind: 'server',
    file: 'hono/app.ts',
    setup: `mkdir -p ../shop && cd ../shop && npm install hono @hono/node-server
# Save the file below as app.mts.
npx tsx app.mts`,
  },
  {
    title: 'Next.js',
    kind: 'server',
    file: 'next/sessions.ts',
    setup: `npx create-next-app@latest ../shop --yes
npm run client:pack ../shop
cd ../shop && npm install ./usher-client-*.tgz
# Save the file below as app/usher.ts. It names four short files beside it: write them, too.
npx next dev --hostname 127.0.0.1  # then open /me`,
  },
  {
    title: 'Python over gRPC',
    kind: 'server',
    file: 'python/sign_in.py',
    setup: `${generatePython('auth.proto')}
# Save the file below as sign_in.py in ../shop.
cd ../shop && python sign_in.py`,
  },
  {
    title: 'Go over gRPC',
    kind: 'server',
    file: 'go-grpc/main.go',
    setup: `${generateGo('auth.proto')}
cd ../shop && go mod init shop
# Save the file below as main.go.
go mod tidy && go run .`,
  },
  {
    title: 'Single-page app',
    kind: 'single-page',
    file: 'single-page/index.html',
    setup: `mkdir -p ../shop && cd ../shop && npm install oidc-client-ts vite
# Save the file below as index.html.
VITE_USHER_URL=$USHER_URL VITE_CLIENT_ID=$CLIENT_ID npx vite --host 127.0.0.1 --port 3000`,
  },
  {
    title: 'Login page of your own',
    kind: 'own-page',
    file: 'login-page/app.ts',
    setup: `mkdir -p ../login && cd ../login && npm install hono @hono/node-server
# The password of ada@example.com for a trial: correct horse
node -p "JSON.stringify({'ada@example.com': 'salt:' + crypto.scryptSync('correct horse', 'salt', 32).toString('hex')})" > passwords.json
# Save the file below as app.mts. It needs ADMIN_KEY.
PASSWORDS_FILE=passwords.json npx tsx app.mts
# Start Usher again with AUTH_PAGE_URL=http://127.0.0.1:4000/. Then start an application, such as that of Express.`,
  },
  {
    title: 'Go with OpenID Connect',
    kind: 'product',
    file: 'go-oidc/main.go',
    setup: `mkdir -p ../shop && cd ../shop && go mod init shop
# Save the file below as main.go.
go mod tidy && go run .`,
  },
];

const INSTALL_TESTING = 'npm run testing:pack ../shop\ncd ../shop && npm install --save-dev ./usher-testing-*.tgz';

/** What sets up the tests of an application in JavaScript. `more` are packages. */
const setUpVitest = (file: string, more = '') => `${INSTALL_TESTING} vitest${more}
# Save the file below as ${file}, and the two files above.
npx vitest run`;

/** Tests of the quick starts, beside their files. */
const TEST_FILES = [
  { title: 'Express', file: 'express/app.spec.ts', setup: setUpVitest('app.test.mts') },
  { title: 'Hono', file: 'hono/app.spec.ts', setup: setUpVitest('app.test.mts') },
  { title: 'Next.js', file: 'next/sessions.spec.ts', setup: setUpVitest('app/usher.test.ts') },
  {
    title: 'Single-page app',
    file: 'single-page/page.spec.ts',
    setup: setUpVitest('page.test.mts', ' playwright-core'),
  },
  {
    title: 'Python over gRPC',
    file: 'python/test_sign_in.py',
    setup: `${INSTALL_TESTING}
# Save the file below as test_sign_in.py.
python -m unittest`,
  },
  {
    title: 'Go over gRPC',
    file: 'go-grpc/main_test.go',
    setup: `${INSTALL_TESTING}
# Save the file below as main_test.go.
go test`,
  },
];

const MESSAGES_PROTO = 'message.proto';
/** The second one imports the first. */
const SESSION_PROTOS = ['auth.proto', 'session.proto'];

const MESSAGE_READER_FILES = [
  {
    title: 'TypeScript',
    file: 'messages/read-messages.ts',
    setup: `npm run client:pack ../shop
cd ../shop && npm install ./usher-client-*.tgz
# Save the file below as app.mts.
npx tsx app.mts`,
  },
  {
    title: 'Python',
    file: 'messages/read_messages.py',
    setup: `${generatePython(MESSAGES_PROTO)}
# Save the file below as read_messages.py in ../shop.
cd ../shop && python read_messages.py`,
  },
  {
    title: 'Go',
    file: 'messages/main.go',
    setup: `${generateGo(MESSAGES_PROTO)}
cd ../shop && go mod init shop
# Save the file below as main.go.
go mod tidy && go run .`,
  },
];

/** The client package does the same in TypeScript. */
const SESSION_READER_FILES = [
  {
    title: 'Python',
    file: 'sessions/check_sessions.py',
    setup: `${generatePython(...SESSION_PROTOS)}
# Save the file below as check_sessions.py in ../shop.
cd ../shop && python check_sessions.py`,
  },
  {
    title: 'Go',
    file: 'sessions/main.go',
    setup: `${generateGo(...SESSION_PROTOS)}
cd ../shop && go mod init shop
# Save the file below as main.go.
go mod tidy && go run .`,
  },
];

mkdirSync('gen/openapi', { recursive: true });
const procedures = createDescribedProcedures();
writeJson('openapi/rest', await describeRest(procedures, commentOf, info));
writeJson('openapi/connect', await describeConnect(procedures, commentOf, info));
writeExamples();
writeProducts();

/** Writes the examples of the API reference and the console. */
function writeExamples(): void {
  const examples = JSON.parse(readFileSync('proto/examples.json', 'utf8'));
  for (const { method } of OPERATIONS) {
    const name = `${method.parent.name}/${method.name}`;
    if (!examples.operations[name]) throw new Error(`add an example of ${name} to proto/examples.json`);
  }
  writeJson('examples', examples);
  writeJson(
    'quick-starts',
    QUICK_START_FILES.map(({ title, kind, file, setup }) => {
      return { title, kind, creation: CREATIONS[kind] ?? '', setup, text: readExample(file) };
    }),
  );
  writeReaders('message-readers', MESSAGE_READER_FILES);
  writeReaders('session-readers', SESSION_READER_FILES);
  writeJson('test-files', {
    first: readExample('testing/login.spec.ts'),
    shared: ['vitest.config.ts', 'browser.ts'].map((name) => ({ name, text: readExample(`testing/${name}`) })),
    tests: TEST_FILES.map(({ title, file, setup }) => ({ title, setup, text: toShop(readExample(file)) })),
  });
  writeJson('mcp-server', { text: readExample('mcp/server.ts') });
}

/** Writes the settings of products that sign in over OpenID Connect, as the page about them has them. */
function writeProducts(): void {
  const page = readFileSync('src/modules/oidc/endpoints/README.md', 'utf8');
  const product = /^### (.+)\n\nRedirect URI: `(.+)` \((.+)\)\n\n```\n([\s\S]+?)\n```$/gm;
  writeJson(
    'openid-clients',
    [...page.matchAll(product)].map(([, name, redirectUri, source, settings]) => {
      return { name, source, redirectUri, settings };
    }),
  );
}

function writeReaders(name: string, files: typeof SESSION_READER_FILES): void {
  writeJson(
    name,
    files.map(({ title, file, setup }) => ({ title, setup, text: readExample(file) })),
  );
}

/** Names the files as they are called in the folder of the application. */
function toShop(test: string): string {
  return test
    .replace("'../testing/browser.ts'", "'./browser.ts'")
    .replace("'./app.ts'", "'./app.mts'")
    .replace('/app.ts`', '/app.mts`')
    .replace("'./sessions.ts'", "'./usher.ts'");
}

function readExample(file: string): string {
  return readFileSync(`test/examples/${file}`, 'utf8');
}

function writeJson(name: string, document: unknown): void {
  writeFileSync(`gen/${name}.json`, `${JSON.stringify(document, null, 2)}\n`);
}
