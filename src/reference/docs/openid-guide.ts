/** The guide to OpenID Connect: how an application becomes a client, and the settings of products. */
import openIdClients from '../../../gen/openid-clients.json' with { type: 'json' };
import { html } from '../../http/html.ts';
import { renderCodeBlock, renderTable } from './text.ts';

const REGISTER = `curl "$USHER_URL/usher.v1.AdminService/CreateApplication" \\
  -H "X-Admin-Key: $ADMIN_KEY" \\
  -H 'Content-Type: application/json' -d '{
  "name": "Wiki",
  "redirectUris": ["https://wiki.example.com/callback"],
  "openIdConnect": true
}'`;

export const OPENID_GUIDE = html`<p>Products that speak <a href="https://openid.net/specs/openid-connect-core-1_0.html">OpenID Connect</a> need three values and no code: the issuer, which is <code>PUBLIC_URL</code>, a client ID and a client secret.</p>
${renderCodeBlock(REGISTER)}
<p>The client ID is in the reply. The client secret is an API key: the one in the reply, or one that CreateApiKey makes with the use <code>CLIENT_SECRET</code>. Such a key is valid only for OpenID Connect.</p>
${renderTable(
  ['What', 'Value'],
  [
    ['Metadata', '`/.well-known/openid-configuration`'],
    ['Flow', 'authorization code, with PKCE (`S256`) unless `requirePkce` is false'],
    [
      'Client authentication',
      '`client_secret_basic` or `client_secret_post`; `none` for pages and mobile apps: `publicClient`',
    ],
    ['Scopes', '`openid`, `profile` (`name`, `picture`), `email` (`email`, `email_verified`), `groups`'],
    ['Roles', 'the claim `groups`: a list of the names of the user’s groups with `inClaim` for this application'],
    ['ID tokens', 'RS256, 15 minutes. `sub` is the ID of the user.'],
    [
      'Refresh tokens',
      'always; until `SESSION_MAX_AGE` after the sign-in, or a logout. Each use replaces that of a page.',
    ],
    ['CORS', 'with `publicClient`, for the origins of `redirectUris`'],
    ['Logout', '`/oidc/logout` with `id_token_hint`; register `postLogoutRedirectUris`'],
    ['Back-channel logout', 'a logout token, RS256, to `backchannelLogoutUri`'],
  ],
)}
<p>Settings to paste into products. Register the redirect URI of the product exactly as shown.</p>
${openIdClients.map(
  ({ name, source, redirectUri, settings }) =>
    html`<details><summary>${name} (${source})</summary><p>Redirect URI: <code>${redirectUri}</code></p>${renderCodeBlock(settings)}</details>\n`,
)}`;
