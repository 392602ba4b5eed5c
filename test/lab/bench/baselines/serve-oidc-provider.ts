/**
 * The provider of OpenID Connect that Node has a package for: `oidc-provider` on Postgres. Only what it must do as Usher
 * does differs from its defaults. Its tokens are opaque, too.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';
import { Pool } from 'pg';
import { createAdapter } from './oidc-adapter.ts';

const {
  DATABASE_URL = '',
  PUBLIC_URL = '',
  OIDC_SIGNING_KEYS_FILE = '',
  CLIENT = '',
  HOST = '',
  PORT = '',
} = process.env;

// The role has the search path of Usher. Connections stay open, so that their CPU time can be read.
const pool = new Pool({ connectionString: DATABASE_URL, options: '-c search_path=public', idleTimeoutMillis: 0 });
const FIND_USER = { name: 'find user', text: 'select email, name, image from users where id = $1' };

const provider = new Provider(PUBLIC_URL, {
  adapter: (model) => createAdapter(pool, model),
  clients: [JSON.parse(CLIENT)],
  jwks: JSON.parse(readFileSync(OIDC_SIGNING_KEYS_FILE, 'utf8')),
  cookies: { keys: ['a key of the benchmark, which is no secret'] },
  async findAccount(_, accountId) {
    const [user] = (await pool.query({ ...FIND_USER, values: [accountId] })).rows;
    if (!user) return undefined;
    const claims = { sub: accountId, email: user.email, email_verified: true, name: user.name, picture: user.image };
    return { accountId, claims: () => claims };
  },
  claims: { openid: ['sub'], profile: ['name', 'picture'], email: ['email', 'email_verified'] },
  // ID tokens have the claims of their scope, every client gets a refresh token, and nobody is asked to consent.
  conformIdTokenClaims: false,
  issueRefreshToken: async () => true,
  async loadExistingGrant({ oidc }) {
    const [clientId, accountId] = [oidc.client?.clientId ?? '', oidc.session?.accountId ?? ''];
    const grant = new oidc.provider.Grant({ clientId, accountId });
    grant.addOIDCScope('openid profile email offline_access');
    await grant.save();
    return grant;
  },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  features: { devInteractions: { enabled: false } },
});
// As behind a proxy: its issuer is https.
provider.proxy = true;
provider.on('server_error', (_, error) => console.error(error));
const answer = provider.callback();

createServer((request, response) => {
  if (!request.url?.startsWith('/interaction/')) answer(request, response);
  else signIn().catch((error: Error) => response.writeHead(500).end(error.message));

  /** Signs in whom the request has asked for. */
  async function signIn() {
    const { params } = await provider.interactionDetails(request, response);
    await provider.interactionFinished(request, response, { login: { accountId: String(params.login_hint) } });
  }
}).listen(Number(PORT), HOST);
