import type { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { createWebhook } from '../../domain/webhooks/create-webhook.ts';
import { deleteWebhook } from '../../domain/webhooks/delete-webhook.ts';
import { getDelivery } from '../../domain/webhooks/get-delivery.ts';
import { getWebhook } from '../../domain/webhooks/get-webhook.ts';
import { listDeliveries } from '../../domain/webhooks/list-deliveries.ts';
import { listWebhooks } from '../../domain/webhooks/list-webhooks.ts';
import { redeliver } from '../../domain/webhooks/redeliver.ts';
import { redeliverFailed } from '../../domain/webhooks/redeliver-failed.ts';
import { rotateSigningKey } from '../../domain/webhooks/rotate-signing-key.ts';
import { sendTestMessage } from '../../domain/webhooks/send-test-message.ts';
import { updateWebhook } from '../../domain/webhooks/update-webhook.ts';
import type { WebhookSummary } from '../../domain/webhooks/webhook.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import type { ServiceParts } from '../service-parts.ts';
import { toMessage, toPage } from './to-message.ts';

type Parts = Pick<ServiceParts, 'cipher' | 'pageTokens' | 'policy' | 'webhooksPerApplication'>;

export function createWebhookHandlers(parts: Parts): ApplicationHandlers<typeof WebhookService> {
  const { cipher, pageTokens } = parts;
  return {
    getWebhook: async (call, fields) => ({ webhook: toWebhook(await getWebhook(call, cipher, fields)) }),
    createWebhook: async (call, fields) => ({ webhook: toWebhook(await createWebhook(call, parts, fields)) }),
    listWebhooks: async (call, fields) => toPage('webhooks', await listWebhooks(call, pageTokens, fields), toWebhook),
    updateWebhook: async (call, fields) => ({ webhook: toWebhook(await updateWebhook(call, parts, fields)) }),
    deleteWebhook,
    rotateSigningKey: async (call, fields) => ({ webhook: toWebhook(await rotateSigningKey(call, cipher, fields)) }),

    sendTestMessage,
    listDeliveries: async (call, fields) =>
      toPage('deliveries', await listDeliveries(call, pageTokens, fields), toMessage),
    async getDelivery(call, fields) {
      const { attempts, ...delivery } = await getDelivery(call, fields);
      return { delivery: { ...toMessage(delivery), attempts: attempts.map(toMessage) } };
    },
    redeliver,
    redeliverFailed,
  };
}

function toWebhook<Row extends WebhookSummary>(webhook: Row) {
  return { ...toMessage(webhook), webhookId: webhook.id, owner: toMessage(webhook.owner) };
}
