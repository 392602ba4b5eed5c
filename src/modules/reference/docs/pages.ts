/** The pages of the API reference: guides, and each service. */

import { anchorOf, CREDENTIAL_HEADERS, type SERVICES } from '../../../api/catalogue.ts';
import { type Html, html } from '../../../http/html.ts';
import { withoutErrors } from '../documented-errors.ts';
import { type ExampleSetup, type Guide, renderGuides } from './guides.ts';
import { OpenApi } from './openapi.ts';
import { OperationRenderer } from './operation.ts';
import { type ServicePart, splitService } from './split-service.ts';
import { renderText } from './text.ts';

export interface PageSection {
  /** The URL fragment, unique in the whole reference. */
  readonly id: string;
  readonly title: string;
  readonly body: Html;
}

export interface ReferencePage {
  /** Below the path of `PUBLIC_URL`, such as `docs/AuthService`. */
  readonly path: string;
  readonly title: string;
  /** What a part of a service is about, such as `applications, API keys`. Empty for other pages. */
  readonly topics: string;
  /** The URL fragment of the introduction, if it has one: links to a service lead to its first part. */
  readonly anchor?: string | undefined;
  readonly intro: Html;
  readonly sections: readonly PageSection[];
}

interface PageGroup {
  readonly id: string;
  readonly title: string;
  readonly pages: readonly ReferencePage[];
}

type Service = (typeof SERVICES)[number];

const AUDIENCES = [
  {
    id: 'applications',
    title: 'For applications',
    header: CREDENTIAL_HEADERS.apiKey,
    about: 'Partners call these with the API key of their application.',
  },
  {
    id: 'operators',
    title: 'For operators',
    header: CREDENTIAL_HEADERS.adminKey,
    about: 'Whoever runs Usher calls these with an admin key. Applications need none of them.',
  },
];

/** Returns the pages in groups, in reading order. */
export function createPages(setup: ExampleSetup, services: readonly Service[]): readonly PageGroup[] {
  const openApi = new OpenApi();
  const guides = renderGuides(setup).map(({ guides: each, ...page }) => ({
    ...page,
    topics: '',
    sections: each.map(renderGuide),
  }));
  const audiences = AUDIENCES.map(({ id, title, header, about }) => ({
    id,
    title,
    pages: services
      .filter((service) => service.header === header)
      .flatMap((service) => createServicePages(service, about, openApi)),
  }));
  return [{ id: 'guides', title: 'Guides', pages: guides }, ...audiences];
}

function createServicePages({ service, operations }: Service, about: string, openApi: OpenApi): ReferencePage[] {
  const renderer = new OperationRenderer(openApi);
  const rendered = operations.map((operation) => ({ operation, body: renderer.render(operation) }));
  const description = withoutErrors(openApi.describeService(service));
  return splitService(rendered).map(({ slug, topics, items }: ServicePart, index) => ({
    path: `docs/${[service.name, slug].filter(Boolean).join('-')}`,
    title: service.name,
    topics,
    anchor: index === 0 ? service.name : undefined,
    intro: html`<p${index === 0 && html` id="${service.name}"`} class="lead">${renderText(description)}</p>
<p>${about} The examples use the variables of <a href="#start">First calls</a>.</p>`,
    sections: items.map(({ operation, body }) => ({
      id: anchorOf(operation.method),
      title: operation.method.name,
      body,
    })),
  }));
}

function renderGuide({ id, title, body }: Guide): PageSection {
  return {
    id,
    title,
    body: html`<section class="guide" id="${id}"><h2><a href="#${id}">${title}</a></h2>${body}</section>\n`,
  };
}
