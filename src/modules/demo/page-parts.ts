/** HTML that the pages of the demo share. */
import { type Html, html } from '../../http/html.ts';

export function renderSection(id: string, title: string, items: Html, about?: Html): Html {
  return html`<section class="panel" aria-labelledby="${id}">
<header><h2 id="${id}">${title}</h2>${about}</header>
${items}
</section>`;
}

export function renderStep(title: string, text: Html): Html {
  return html`<li><h3>${title}</h3><p>${text}</p></li>`;
}

export function renderFact(name: string, value: Html): Html {
  return html`<dt>${name}</dt><dd>${value}</dd>`;
}

export function renderOffer(name: string | Html, text: string | Html, button?: Html): Html {
  return html`<div class="item"><div><strong>${name}</strong><p>${text}</p></div>${button}</div>`;
}

export function renderButtonLink(url: string, text: string): Html {
  return html`<a class="button second" href="${url}">${text}</a>`;
}

export function renderCall(name: string, service = 'AuthService'): Html {
  return html`<a href="/docs/${service}#${service}.${name}">${name}</a>`;
}
