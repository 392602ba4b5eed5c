/** The API reference: `/docs` and the pages below it. All are rendered at the first request of one. */
import type { HttpContext } from '../../http/http-context.ts';
import { send } from '../../http/response.ts';
import { createTextEndpoint } from './generated-text.ts';

type Endpoint = (context: HttpContext) => Promise<void> | void;

/** Returns a function that finds the endpoint of a path of the reference. */
export function createReferenceEndpoints(publicUrl: string): (path: string) => Promise<Endpoint | undefined> {
  let endpoints: Promise<ReadonlyMap<string, Endpoint>> | undefined;
  const load = async () => {
    const { renderReference } = await import('../docs/page.ts');
    const texts = [...renderReference({ publicUrl })];
    return new Map(texts.map(([path, text]) => [path, createTextEndpoint(async () => text)]));
  };
  return async (path) => {
    if (!/^\/docs(?:\/[^/]*)?$/.test(path)) return undefined;
    endpoints ??= load().catch((error) => {
      endpoints = undefined;
      throw error;
    });
    return (await endpoints).get(path) ?? redirectToStart;
  };
}

/** Pages of services change their place as services grow. The script of the first page finds the section of the URL. */
function redirectToStart(context: HttpContext): void {
  send(context, 302, '', { location: '../docs' });
}
