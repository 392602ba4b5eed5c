/** The quick start of a new application, with its values. */
import openIdClients from '../../../../gen/openid-clients.json' with { type: 'json' };
import quickStarts from '../../../../gen/quick-starts.json' with { type: 'json' };
import { isRegistered } from '../../../domain/applications/redirect-uri.ts';
import { type Html, html } from '../../../http/html.ts';
import { renderFacts } from './panel.ts';

interface NewApplication {
  readonly kind: 'server' | 'own-page' | 'product' | 'single-page';
  /** The path of its page in the console. */
  readonly path: string;
  readonly usherUrl: string;
  readonly clientId: string;
  readonly apiKey: string;
  readonly redirectUris: readonly string[];
}

/** The redirect URI of the quick starts, on any port. */
export const QUICK_START_URI = 'http://127.0.0.1/callback';

/** Returns the line to paste into a shell. It begins with a space, so that shells can keep it out of their history. */
export function variablesOf({ kind, usherUrl, clientId, apiKey }: NewApplication): string {
  const values = `USHER_URL=${usherUrl} CLIENT_ID=${clientId}`;
  return kind === 'single-page' ? ` export ${values}` : ` export ${values} API_KEY=${apiKey}`;
}

export function renderQuickStart(application: NewApplication): Html {
  const { kind, path, redirectUris, usherUrl } = application;
  const own = quickStarts.filter((each) => each.kind === kind);
  // A login page of one's own needs an application that leads to it.
  const all = kind === 'own-page' ? [...own, ...quickStarts.filter((each) => each.kind === 'server')] : own;
  return html`${kind === 'product' && renderProducts(application)}
${
  !isRegistered(QUICK_START_URI, redirectUris) &&
  html`<p class="alert note">What follows comes back to <code>${QUICK_START_URI}</code>. For a trial, <a href="${path}">add it to the redirect URIs</a>.</p>`
}
<p>Begin in a clone of Usher.${all.length > 1 && ' Each is a whole application.'}</p>
${all.map((each) => {
  // The login page has no use for the key of the application.
  const variables = each.kind === 'own-page' ? ` export USHER_URL=${usherUrl}` : variablesOf(application);
  return renderSteps(
    each.title,
    own.length === 1 && each === own[0],
    html`${renderCode('Copy the commands', `${variables}\n${each.setup}`)}
${renderCode('Copy the file', each.text)}`,
  );
})}${kind === 'single-page' && renderKeyOfPage(application)}`;
}

function renderKeyOfPage({ apiKey }: NewApplication): Html {
  const content = html`<p>Every application has a key. Only a server may have it, never a page. It is shown once.</p>
${renderCode('Copy the key', apiKey)}`;
  return renderSteps('If a server needs the API key', false, content);
}

function renderProducts({ usherUrl, clientId, apiKey }: NewApplication): Html {
  const fill = (text: string) =>
    text.replaceAll('https://login.example.com', usherUrl).replaceAll('client_…', clientId).replaceAll('usk_…', apiKey);
  return html`${renderFacts([
    ['Issuer', html`<code>${usherUrl}</code>`],
    ['Client ID', html`<code>${clientId}</code>`],
    ['Client secret', 'the key above'],
    ['Scopes', html`<code>openid profile email</code>`],
  ])}
${openIdClients.map(({ name, redirectUri, settings }) =>
  renderSteps(
    name,
    false,
    html`<p class="small">Redirect URI: <code>${redirectUri}</code>, with the host of your ${name}.</p>
${renderCode('Copy the settings', fill(settings))}`,
  ),
)}`;
}

function renderSteps(title: string, isOpen: boolean, content: Html): Html {
  return html`<details class="group"${isOpen && html` open`}><summary>${title}</summary><div class="fields">${content}</div></details>\n`;
}

function renderCode(label: string, code: string): Html {
  return html`<div class="code"><pre tabindex="0" role="group" aria-label="${label.replace('Copy the', 'The')}"><code>${code}</code></pre><button type="button" class="second" data-copy="${code}" hidden>${label}</button></div>`;
}
