/**
 * The API reference: `/docs` and a page for each service, from the OpenAPI documents, the examples and the table of errors.
 *
 * `npx redocly build-docs gen/openapi/rest.json` writes a page from the documents alone. That page loads a script
 * of 2.3 MB from another host and needs a weaker content security policy. It has no gRPC and no client package. These pages
 * have a script of 3 kB, and tests run every call that they show.
 */
import { SERVICES } from '../../api/catalogue.ts';
import { VERSION } from '../../config/version.ts';
import { Html, html, MARK } from '../../http/html.ts';
import { renderPage } from '../render-page.ts';
import type { StaticText } from '../static-text.ts';
import type { ExampleSetup } from './guides.ts';
import { createPages, type PageSection, type ReferencePage } from './pages.ts';
import { SEARCH_WORDS } from './search-words.ts';

type Groups = ReturnType<typeof createPages>;

/** Returns all pages and the index of the search, by path. */
export function renderReference(setup: ExampleSetup): ReadonlyMap<string, StaticText> {
  const groups = createPages(setup, SERVICES);
  const pages = groups.flatMap((group) => group.pages);
  const links = collectAnchors(pages);
  const rendered = pages.map(
    (page, index) => [`/${page.path}`, renderOne(page, groups, links, [pages[index - 1], pages[index + 1]])] as const,
  );
  const index = {
    text: JSON.stringify(createSearchIndex(pages)),
    headers: { 'content-type': 'application/json' },
  };
  return new Map([...rendered, ['/docs/search.json', index]]);
}

/** Returns the path of the page that has each anchor. */
function collectAnchors(pages: readonly ReferencePage[]): ReadonlyMap<string, string> {
  return new Map(
    pages.flatMap(({ path, intro, sections }) =>
      [intro, ...sections.map(({ body }) => body)].flatMap(({ text }) =>
        [...text.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => [id, path] as const),
      ),
    ),
  );
}

function renderOne(
  page: ReferencePage,
  groups: Groups,
  anchors: ReadonlyMap<string, string>,
  [before, after]: readonly [ReferencePage | undefined, ReferencePage | undefined],
): StaticText {
  const { path, title, topics, intro, sections } = page;
  // Links are relative to the path of `PUBLIC_URL`.
  const root = path.includes('/') ? '../' : '';
  const heading = topics ? `${title}: ${topics}` : title;
  const content = html`${intro}\n${sections.map(({ body }) => body)}`.text.replace(/ href="#([^"]+)"/g, (link, id) => {
    const target = anchors.get(id);
    return target === undefined || target === path ? link : ` href="${root}${target}#${id}"`;
  });
  return renderPage({
    title: `${heading} – Usher API reference`,
    description: 'Every operation of Usher, with its fields, errors and examples to copy.',
    styles: [new URL('page.css', import.meta.url)],
    script: new URL('page.js', import.meta.url),
    body: html`<a class="skip" href="#content">Skip to content</a>
<header class="top">
<a class="brand" href="${root || '.'}">${MARK}Usher <span class="soft small">${VERSION}</span></a>
<form class="search" role="search" data-root="${root}" data-page="${path}" hidden><input type="search" aria-label="Search" placeholder="Search" autocomplete="off"></form>
</header>
<div class="frame">
<nav class="toc" aria-label="Contents" tabindex="0">
<details class="results" open hidden><summary><output></output></summary><div></div></details>
<details class="contents">
<summary>Contents</summary>
${groups.map(
  ({ id, title: name, pages }) => html`<p id="${id}">${name}</p>
<ul class="plain">${pages.map((each, index) => renderContents(each, each.title !== pages[index - 1]?.title, page, root))}</ul>
`,
)}<p>As documents</p>
<ul class="plain"><li><a href="${root}openapi.json">OpenAPI of REST</a></li><li><a href="${root}connect.json">OpenAPI of Connect</a></li></ul>
</details>
</nav>
<main id="content">
<h1>${path === 'docs' ? 'API reference' : heading}</h1>
${new Html(content)}
<nav class="turn" aria-label="Pages">${renderTurn('prev', before, root)}${renderTurn('next', after, root)}</nav>
</main>
</div>`,
  });
}

/** Renders the link to a page. That of the open page has its sections below it. */
function renderContents(page: ReferencePage, isFirstPart: boolean, open: ReferencePage, root: string): Html {
  const { path, title, topics, sections } = page;
  const service = topics && isFirstPart && html`<li class="service">${title}</li>\n`;
  const start = html`${service}<li${topics && html` class="part"`}>`;
  if (page !== open) return html`${start}<a href="${root}${path}">${topics || title}</a></li>\n`;
  return html`${start}<a href="#content" aria-current="page">${topics || title}</a><ul class="plain">${sections.map(
    (section) => html`<li><a href="#${section.id}">${section.title}</a></li>`,
  )}</ul></li>\n`;
}

function renderTurn(rel: 'prev' | 'next', page: ReferencePage | undefined, root: string): Html | undefined {
  if (!page) return undefined;
  const { path, title, topics } = page;
  return html`<a rel="${rel}" href="${root}${path}"><span class="soft small">${rel === 'prev' ? 'Before' : 'Next'}</span> ${title}${topics && html`: ${topics}`}</a>`;
}

/** A section, as the script of the API reference fetches it at the first search. */
export interface SearchEntry {
  readonly page: string;
  /** The title of the page. */
  readonly group: string;
  readonly id: string;
  readonly title: string;
  /** Each word once, in lower case. */
  readonly words: string;
}

function createSearchIndex(pages: readonly ReferencePage[]): SearchEntry[] {
  return pages.flatMap(({ path, title, topics, anchor, intro, sections }) => {
    const introduction = anchor === undefined ? [] : [{ id: anchor, title, body: intro }];
    return [...introduction, ...sections].map((section) => ({
      page: path,
      group: topics ? `${title}: ${topics}` : title,
      id: section.id,
      title: section.title,
      words: readWords(section),
    }));
  });
}

function readWords({ id, body }: PageSection): string {
  const text = body.text.replace(/<[^>]+>/g, ' ').replace(/&#?\w+;/g, ' ');
  const words = `${text} ${SEARCH_WORDS[id] ?? ''}`.toLowerCase().split(/[^\p{L}\p{N}_.-]+/u);
  return [...new Set(words)].join(' ').trim();
}
