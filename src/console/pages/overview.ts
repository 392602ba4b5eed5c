import { html } from '../../http/html.ts';
import type { ConsoleRequest } from '../console-request.ts';
import type { Reply } from '../route.ts';

/** The first page. A team goes to its applications. */
export async function showOverview({ operator }: ConsoleRequest): Promise<Reply> {
  if (operator.role === 'team') return { redirect: '/applications' };
  return { title: 'Overview', section: 'overview', body: html`<h1>Overview</h1>` };
}
