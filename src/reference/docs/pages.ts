/** The pages of the API reference: guides, and each service. */
import { anchorOf, CREDENTIAL_HEADERS, type Operation, type SERVICES } from '../../api/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import { withoutErrors } from '../documented-errors.ts';
import { type ExampleSetup, type Guide, renderGuides } from './guides.ts';
import { OpenApi } from './openapi.ts';
import { OperationRenderer } from './operation.ts';
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

/** What the calls of a service are for, in words that people look for. */
const TITLES: Readonly<Record<string, string>> = {
  AdminService: 'Calls for operators',
  AuthService: 'Calls for logins',
  EventService: 'Calls for events and check-ins',
  MessageService: 'Calls for messages',
  SessionService: 'Calls for sessions',
  TokenService: 'Calls for tokens',
  UserService: 'Calls for users',
  WebhookService: 'Calls for webhooks',
};

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
    title: TITLES[service.name] ?? service.name,
    topics,
    anchor: index === 0 ? service.name : undefined,
    intro: html`<p${index === 0 && html` id="${service.name}"`} class="lead">${renderText(description)}</p>
<p>${about} The RPC service is <code>${service.typeName}</code>. The examples use the variables of <a href="#start">First calls</a>.</p>`,
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

/** Splits the operations of a large service over several pages. */
interface RenderedOperation {
  readonly operation: Operation;
  readonly body: Html;
}

interface ServicePart {
  /** Empty for the first part, which has the name of the service alone. */
  readonly slug: string;
  readonly topics: string;
  readonly items: readonly RenderedOperation[];
}

/** Leaves room for the frame, the style and the script of a page, which has at most 60 kB. */
const PART_BYTES = 40_000;

/** Keeps the operations in their order, and those of one topic together if they fit on a page. */
function splitService(operations: readonly RenderedOperation[]): ServicePart[] {
  const parts: RenderedOperation[][] = [[]];
  for (const topic of groupByTopic(operations)) {
    if (sizeOf(last(parts)) + sizeOf(topic) > PART_BYTES) parts.push([]);
    for (const operation of topic) {
      if (sizeOf(last(parts)) + sizeOf([operation]) > PART_BYTES) parts.push([]);
      last(parts).push(operation);
    }
  }
  const filled = parts.filter(({ length }) => length > 0);
  if (filled.length === 1) return filled.map((items) => ({ slug: '', topics: '', items }));
  return filled.map((items, index) => ({
    slug: index === 0 ? '' : (items[0]?.operation.method.name ?? ''),
    topics: describeTopics(items),
    items,
  }));
}

function groupByTopic(operations: readonly RenderedOperation[]): RenderedOperation[][] {
  const groups: RenderedOperation[][] = [];
  for (const each of operations) {
    const before = groups.at(-1)?.[0];
    if (before && wordsOf(before)[0] === wordsOf(each)[0]) last(groups).push(each);
    else groups.push([each]);
  }
  return groups;
}

/** Returns the plurals of the resources that the operations name: messages of the schema, such as `ApiKey`. */
/** What names of the schema mean to somebody who has not read it. */
const PLAIN_TOPICS: Readonly<Record<string, string>> = {
  ApplicationGroup: 'groups',
  AuditEvent: 'audit log',
  GroupMember: 'members',
  LoginIntent: 'logins',
  SignInAttempt: 'failed sign-ins',
  UserApplication: 'applications',
  UserGrant: 'sign-ins by OpenID Connect',
  UserGroup: 'groups',
  UserIdentity: 'accounts at providers',
  UserSession: 'sessions',
};

function describeTopics(items: readonly RenderedOperation[]): string {
  const topics = items.flatMap((item) => {
    const words = wordsOf(item);
    const { messages } = item.operation.method.parent.file;
    if (!messages.some(({ name }) => name === words.join(''))) return [];
    const plain = PLAIN_TOPICS[words.join('')];
    if (plain !== undefined) return [plain];
    const singular = words.join(' ').toLowerCase().replace('api', 'API').replace('check in', 'check-in');
    return [`${singular.replace(/y$/, singular.endsWith('ey') ? 'y' : 'ie')}s`];
  });
  return [...new Set(topics)].join(', ') || 'more';
}

/** Returns the words after the verb, in the singular: `Api` and `Key` of `ListApiKeys`. */
function wordsOf({ operation }: RenderedOperation): string[] {
  const singular = operation.method.name.replace(/ies$/, 'y').replace(/s$/, '');
  return singular.split(/(?=[A-Z])/).slice(1);
}

function sizeOf(operations: readonly RenderedOperation[]): number {
  return operations.reduce((sum, { body }) => sum + Buffer.byteLength(body.text), 0);
}

function last<Item>(items: readonly Item[]): Item {
  return items.at(-1) as Item;
}
