/** The home page, the API reference at `/docs` and below it, and the OpenAPI documents. */
import { readFile } from 'node:fs/promises';
import { refuseMethod, sendFailure } from '../api/envelope.ts';
import { headerOf, send } from '../http/exchange.ts';
import type { HttpContext, PathHandler } from '../http/http-context.ts';
import { serveRoutes } from '../http/route-table.ts';
import type { Greeting } from '../modules/module.ts';
import { createTextEndpoint } from './static-text.ts';

type Endpoint = (context: HttpContext) => Promise<void> | void;

interface ReferenceParts {
  readonly adminKeyFile: string;
  readonly greetings: readonly Greeting[];
  readonly hasAccountPage: boolean;
  readonly hasOidc: boolean;
  readonly publicUrl: string;
  /** How this machine reaches the server. */
  readonly url: string;
}

const EXAMPLES_PATH = '/docs/examples';
const OPENAPI = new URL('../../gen/openapi/', import.meta.url);

export function createReferenceEndpoints(parts: ReferenceParts): PathHandler {
  const sendPage = createPages(parts);
  const endpoints: Readonly<Record<string, Endpoint>> = {
    '/': createHomeEndpoint(parts),
    '/openapi.json': createDocumentEndpoint('rest.json'),
    '/connect.json': createDocumentEndpoint('connect.json'),
    '/docs': sendPage,
    '/docs/:page': sendPage,
  };
  const routes = Object.entries(endpoints).map(([path, run]) => ({ method: 'GET', path, run }));
  return serveRoutes(
    [...routes, { method: 'POST', path: EXAMPLES_PATH, run: createExamplesEndpoint(parts) }],
    refuseMethod,
  );
}

/** Pages load their modules at the first request, because most processes never get one. */
function createHomeEndpoint({ greetings, hasAccountPage, hasOidc }: ReferenceParts): Endpoint {
  const find = (title: string) => greetings.find((greeting) => greeting.title === title);
  const render = async (consoleUrl?: string) => {
    const { renderHomePage } = await import('./home-page.ts');
    return renderHomePage({ hasAccount: hasAccountPage, hasDemo: find('Demo') !== undefined, hasOidc, consoleUrl });
  };
  const sendToAll = createTextEndpoint(render);
  return async (context) => {
    if (!find('Demo')) return sendToAll(context);
    const { text, headers } = await render(isFromThisMachine(context) ? find('Console')?.url : undefined);
    send(context, 200, text, headers);
  };
}

function createDocumentEndpoint(name: string): Endpoint {
  return createTextEndpoint(async () => ({
    text: await readFile(new URL(name, OPENAPI), 'utf8'),
    headers: { 'content-type': 'application/json' },
  }));
}

/** All pages are rendered at the first request of one. */
function createPages({ adminKeyFile, greetings, publicUrl, url }: ReferenceParts): Endpoint {
  let endpoints: Promise<ReadonlyMap<string, Endpoint>> | undefined;
  const load = async () => {
    const { renderReference } = await import('./docs/page.ts');
    const texts = [...renderReference({ publicUrl })];
    return new Map(texts.map(([path, text]) => [path, createTextEndpoint(async () => text)]));
  };
  /** Sends the first page with the line that makes its examples work as they are, unless others can read it. */
  const sendWithValues = async (context: HttpContext, { variables = {} }: Greeting) => {
    const { renderReference } = await import('./docs/page.ts');
    const values = isFromThisMachine(context) ? variables : {};
    const setup = { publicUrl, adminKeyFile, values, examplesUrl: url + EXAMPLES_PATH };
    const { text = '', headers } = renderReference(setup).get(context.path) ?? {};
    send(context, 200, text, { ...headers, 'cache-control': 'no-store' });
  };
  return async (context) => {
    const { path } = context;
    const greeting = greetings.find(({ makeExampleValues }) => makeExampleValues);
    if (path === '/docs' && greeting) return sendWithValues(context, greeting);
    endpoints ??= load().catch((error) => {
      endpoints = undefined;
      throw error;
    });
    const sendPage = (await endpoints).get(path) ?? redirectToStart;
    await sendPage(context);
  };
}

/** Answers with lines for the shell. Browsers get nothing: a page of others could send them here. */
function createExamplesEndpoint({ greetings }: ReferenceParts): Endpoint {
  return async (context) => {
    const make = greetings.find(({ makeExampleValues }) => makeExampleValues)?.makeExampleValues;
    if (!make || !isFromThisMachine(context) || headerOf(context, 'sec-fetch-site') !== undefined)
      return sendFailure(context, 'NOT_FOUND');
    const lines = Object.entries(await make()).map(([name, value]) => `export ${name}='${value}'\n`);
    send(context, 200, lines.join(''), { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' });
  };
}

/** Pages of services change their place as services grow. The script of the first page finds the section of the URL. */
function redirectToStart(context: HttpContext): void {
  send(context, 302, '', { location: '../docs' });
}

/**
 * Returns whether only this machine can read the response, which has secrets. Checks the host too, because a site of
 * others can let its name resolve to this machine (DNS rebinding).
 */
function isFromThisMachine(context: HttpContext): boolean {
  const isForwarded = ['x-forwarded-for', 'forwarded', 'via'].some((name) => name in context.headers);
  const host = headerOf(context, 'host') ?? String(context.headers[':authority'] ?? '');
  const isLocal = /^(127\.|::1$)/.test(context.clientAddress);
  return isLocal && !isForwarded && /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i.test(host);
}
