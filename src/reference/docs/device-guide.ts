/** The guide to devices without a browser, and to services without a person. */
import { html } from '../../http/html.ts';
import { renderCodeBlock, renderTable } from './text.ts';

const REGISTER = `curl "$USHER_URL/usher.v1.AdminService/CreateApplication" \\
  -H "X-Admin-Key: $ADMIN_KEY" \\
  -H 'Content-Type: application/json' -d '{
  "name": "Shop CLI",
  "redirectUris": ["http://127.0.0.1/callback"],
  "openIdConnect": true,
  "publicClient": true,
  "deviceLogin": true
}'`;

const MACHINE = `POST /oidc/token
Authorization: Basic base64(client ID:API key)
Content-Type: application/x-www-form-urlencoded

grant_type=client_credentials&resource=https://api.example.com/&scope=orders:read`;

export const DEVICE_GUIDE = html`<p>A terminal, a television or a job on a server shows a code, and a person enters it at <code>/device</code> in the browser of any other device (<a href="https://www.rfc-editor.org/rfc/rfc8628">RFC 8628</a>). An operator turns it on with <code>deviceLogin</code>:</p>
${renderCodeBlock(REGISTER)}
${renderTable(
  ['What', 'Value'],
  [
    ['Device endpoint', '`/oidc/device_authorization`, with `client_id` and `scope`'],
    ['Token endpoint', '`/oidc/token`, every 5 seconds; `slow_down` asks for 5 seconds more'],
    ['Codes', '10 minutes, and once'],
    [
      'Tokens',
      'Those of OpenID Connect. A sign-out in the browser does not end them: the account page and EndGrant do.',
    ],
    ['Libraries', '`golang.org/x/oauth2`, `oauth4webapi` and every other that knows device authorization'],
  ],
)}
<h3>Machines</h3>
<p>A service gets a token without a person for an application that has a <code>resourceUri</code>, and the client ID of the service in its <code>machineClientIds</code> (<a href="#AdminService.UpdateApplication">UpdateApplication</a>):</p>
${renderCodeBlock(MACHINE, { marksVariables: false })}
<p>Examples in Go and Node, the limits and the odds of guessed codes are in <code>src/modules/oidc/TERMINALS.md</code> of a clone.</p>`;
