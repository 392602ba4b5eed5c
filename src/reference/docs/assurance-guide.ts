/** The guide to sign-ins with more than one factor. */
import { html } from '../../http/html.ts';
import { renderCodeBlock, renderTable } from './text.ts';

const DEMAND = `curl "$USHER_URL/usher.v1.AdminService/UpdateApplication" \\
  -H "X-Admin-Key: $ADMIN_KEY" \\
  -H 'Content-Type: application/json' -d @- <<EOF
{"applicationId": "$APPLICATION_ID", "requiredAssurance": "ANY"}
EOF`;

export const ASSURANCE_GUIDE = html`<p>A sign-in has a level, by what it has shown itself. Sessions and grants have it as <code>assurance</code>, ID tokens and auth tokens as <code>acr</code>.</p>
${renderTable(
  ['Level', '`acr`', 'What reaches it'],
  [
    ['1', '`1`', 'One factor: a code by e-mail, a wallet, a passkey that asks for no fingerprint, face or PIN'],
    ['2', '`2`', 'Two factors (MFA, 2FA), as another provider or a page of your own has checked them'],
    ['3', '`phr`', 'Two factors that resist phishing: a passkey that checks fingerprint, face or PIN'],
  ],
)}
<p>A page of your own says which level it has checked: <code>assurance</code> of <a href="#AdminService.CompleteLogin">CompleteLogin</a>. A sign-in on behalf of a user, by support for example, always has level 1 and the method <code>impersonation</code>.</p>
<p>An application demands a level with <code>requiredAssurance</code>: <code>ANY</code>, <code>TWO_FACTORS</code> or <code>PHISHING_RESISTANT</code>. A sign-in below it ends within 15 minutes. <code>TWO_FACTORS</code> stops somebody who only reads the mailbox. It does not stop phishing in real time, in which a false page passes on the code of an app; <code>PHISHING_RESISTANT</code> does.</p>
${renderCodeBlock(DEMAND)}
<p>A single login demands more with <code>requiredAssurance</code> of <a href="#AuthService.GenerateAuthUrl">GenerateAuthUrl</a>, or with <code>acr_values</code> of OpenID Connect. Check the level of the answer, because somebody may come back with the token of another login.
Over REST and RPC, <code>assurance</code> is that of the last sign-in in any browser; OpenID Connect has it per browser.</p>`;
