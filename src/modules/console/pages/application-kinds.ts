/** What an application can be: this decides how it signs people in, and which quick start it gets. */
import { type Html, html } from '../../../http/html.ts';
import type { ConsoleRequest } from '../console-request.ts';

interface Kind {
  readonly id: 'server' | 'own-page' | 'product' | 'single-page';
  readonly label: string;
  readonly about: string;
  readonly openIdConnect?: true;
  readonly publicClient?: true;
}

const SERVER: Kind = {
  id: 'server',
  label: 'Server',
  about: 'Your server sends people to the login page of Usher, and keeps their session.',
};

const KINDS: readonly Kind[] = [
  SERVER,
  {
    id: 'own-page',
    label: 'Own page',
    about: 'People sign in on a page of yours, for example with a password.',
  },
  {
    id: 'product',
    label: 'Product',
    about: 'Software that speaks OpenID Connect, such as Grafana, GitLab or Nextcloud.',
    openIdConnect: true,
  },
  {
    id: 'single-page',
    label: 'Single-page app',
    about: 'A page or a mobile app without a server. It keeps no secret, and uses OpenID Connect.',
    openIdConnect: true,
    publicClient: true,
  },
];

export function kindOf(form: URLSearchParams): Kind {
  return KINDS.find(({ id }) => id === form.get('kind')) ?? SERVER;
}

export function renderKinds({ parts, problem }: ConsoleRequest): Html {
  const chosen = problem ? kindOf(problem.form) : SERVER;
  return html`<fieldset class="kinds"><legend>What is it?</legend>
<div>${KINDS.map(
    (kind) =>
      html`<label><input type="radio" name="kind" value="${kind.id}"${kind === chosen && html` checked`}><span><strong>${kind.label}</strong> ${kind.about}${kind.openIdConnect && !parts.hasOpenIdConnect && html` <b>It is off: set <code>OIDC_SIGNING_KEYS_FILE</code>.</b>`}</span></label>\n`,
  )}</div></fieldset>\n`;
}

/** Returns the fields that the kind decides. Usher demands a code challenge (PKCE) until an operator says otherwise. */
export function fieldsOfKind(form: URLSearchParams, { redirectUris, postLogoutRedirectUris }: Uris) {
  const { openIdConnect = false, publicClient = false } = kindOf(form);
  const roots = openIdConnect ? redirectUris.flatMap(rootOf) : [];
  return {
    openIdConnect,
    publicClient,
    requirePkce: true,
    postLogoutRedirectUris: postLogoutRedirectUris.length > 0 ? postLogoutRedirectUris : [...new Set(roots)],
  };
}

interface Uris {
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
}

/** Most clients come back to their root after a logout. */
function rootOf(uri: string): string[] {
  return /^https?:/.test(uri) && URL.canParse(uri) ? [new URL('/', uri).href] : [];
}
