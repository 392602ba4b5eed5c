/** The guide to MCP servers. Its server is in `test/examples/mcp`, and a test runs it with the SDK's client. */
import server from '../../../gen/mcp-server.json' with { type: 'json' };
import { html } from '../../http/html.ts';
import { renderCodeBlock, renderTable } from './text.ts';

const SETUP = `npm install @modelcontextprotocol/sdk zod
# Save the file below as server.ts.
USHER_URL=https://login.example.com CLIENT_ID=client_… API_KEY=… RESOURCE=https://mcp.example.com/mcp npx tsx server.ts`;

export const MCP_GUIDE = html`<p>Assistants such as Claude Code and VS Code come with a client ID that is a URL: nobody registers them. Usher asks the person whether the assistant may use your server, and your server asks Usher about its tokens.</p>
<ol>
<li>Set <code>CLIENT_METADATA_HOSTS</code> to the hosts of the assistants, or to <code>*</code> for all. Without it, such clients are refused.</li>
<li>Create an application for the server alone, so that signing out of your shop does not cut assistants off. Give it <code>openIdConnect</code>, <code>resourceUri</code>, <code>resourceScopes</code> and <code>allowMetadataClients</code> (<a href="#AdminService.UpdateApplication">UpdateApplication</a>, or the console under “Access for other clients”).</li>
<li>Publish where clients get tokens (RFC 9728), and check each token by introspection with the application’s client ID and API key.</li>
</ol>
${renderTable(
  ['Field of the application', 'Value'],
  [
    ['`resourceUri`', 'The URL of the server, as its metadata has it. Slashes at the end do not count.'],
    ['`resourceScopes`', 'What assistants may ask for: a name, and what people read before they consent.'],
    ['`sessionMaxAgeSeconds`', 'How long an assistant stays connected without a new sign-in.'],
    ['`restrictAccess`', 'Only people whom you let in may connect an assistant.'],
  ],
)}
<p>An answer of <code>/oidc/introspect</code> has <code>active</code>, <code>aud</code> (the resource), <code>client_id</code> (the URL of the assistant), <code>sub</code> (the user) and <code>scope</code>. Tokens of another resource are inactive. People see their assistants on the account page, and end them there.
A consent is remembered for assistants with an https redirect URI. Those on the person’s computer ask each time, because any program there can take their place.
Applications that you have registered get tokens for the resource, too, if its <code>machineClientIds</code> lists them: they send <code>resource</code>.</p>
<details><summary>A server in TypeScript</summary>${renderCodeBlock(SETUP)}${renderCodeBlock(server.text, { marksVariables: false })}</details>`;
