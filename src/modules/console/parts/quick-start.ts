/** The quick start of a new application, with its values. */
import { OPENID_CLIENTS } from '../../../api/docs/openid-clients.ts';
import { ALL_QUICK_STARTS, SETUPS } from '../../../api/docs/quick-starts.ts';
import { type Html, html } from '../../../http/html.ts';
import { renderFacts } from './panel.ts';

interface NewApplication {
  readonly kind: 'server' | 'own-page' | 'product' | 'single-page';
  readonly usherUrl: string;
  readonly clientId: string;
  readonly apiKey: string;
}

/** The redirect URI of the quick starts, on any port. */
export const QUICK_START_URI = 'http://127.0.0.1/callback';

/** Returns the line to paste into a shell. It begins with a space, so that shells can keep it out of their history. */
export function variablesOf({ kind, usherUrl, clientId, apiKey }: NewApplication): string {
  const values = `USHER_URL=${usherUrl} CLIENT_ID=${clientId}`;
  return kind === 'single-page' ? ` export ${values}` : ` export ${values} API_KEY=${apiKey}`;
}

export function renderQuickStart(application: NewApplication): Html {
  const own = ALL_QUICK_STARTS.filter(({ kind }) => kind === application.kind);
  return html`${application.kind === 'product' && renderProducts(application)}
<p>Begin in a clone of Usher.${own.length > 1 && ' Each is a whole application.'}</p>
${own.map(({ title, text }) =>
  renderSteps(
    title,
    own.length === 1,
    html`${renderCode('Copy the commands', `${variablesOf(application)}\n${SETUPS[title] ?? ''}`)}
${renderCode('Copy the file', text)}`,
  ),
)}${application.kind === 'single-page' && renderKeyOfPage(application)}`;
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
${OPENID_CLIENTS.map(({ name, redirectUri, settings }) =>
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
