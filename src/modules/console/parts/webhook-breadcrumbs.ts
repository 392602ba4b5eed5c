import type { Webhook } from '../../../domain/webhooks/webhook.ts';
import type { Html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import { renderBreadcrumbs } from './panel.ts';

/** Renders breadcrumbs for the page of a webhook, or for a page below it. */
export function renderWebhookBreadcrumbs({ id, url, application }: Webhook, isBelow = false): Html {
  const path = `/applications/${application.id}`;
  const webhook = [`${path}/webhooks/${id}`, isolate(url)] as const;
  return renderBreadcrumbs(
    [path, isolate(application.name)],
    [`${path}/webhooks`, 'Webhooks'],
    ...(isBelow ? [webhook] : []),
  );
}
