/** The home page with a link to the demo, and the API reference with the demo's values, so that its examples can be pasted. */
import { type HttpContext, headerOf } from '../../http/http-context.ts';
import { send } from '../../http/response.ts';
import type { Core } from '../module.ts';
import type { Demo } from './demo.ts';
import type { DemoParts } from './demo-parts.ts';
import { makeExampleValues } from './example-values.ts';
import type { Actions } from './site.ts';

export function createReferenceAction(demo: Demo, parts: DemoParts & Pick<Core, 'greetings'>): Actions {
  return {
    async 'GET /'(context) {
      const { renderHomePage } = await import('../../api/operations/home-page.ts');
      const console = parts.greetings.find(({ title }) => title === 'Console');
      const { text, headers } = renderHomePage({
        hasAccount: demo.accountUrl !== undefined,
        hasDemo: true,
        hasOidc: parts.hasOidc,
        consoleUrl: isFromThisMachine(context) ? console?.url : undefined,
      });
      send(context, 200, text, headers);
    },

    async 'GET /docs'(context) {
      const { renderReference } = await import('../../api/docs/page.ts');
      const values = isFromThisMachine(context) ? await makeExampleValues(demo, parts) : {};
      const pages = renderReference({ publicUrl: parts.tokens.issuer, adminKeyFile: demo.adminKeyFile, values });
      const { text = '', headers } = pages.get(context.path) ?? {};
      send(context, 200, text, { ...headers, 'cache-control': 'no-store' });
    },
  };
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
