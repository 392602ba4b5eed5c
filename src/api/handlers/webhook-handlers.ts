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
import type { ServiceParts } from '../services.ts';
import { toMessage } from './to-message.ts';

type Parts = Pick<ServiceParts, 'cipher' | 'pageTokens' | 'policy'>;

export function createWebhookHandlers(parts: Parts): ApplicationHandlers<typeof WebhookService> {
  const { cipher, pageTokens } = parts;
  return {
    getWebhook: async (fields, call) => ({ webhook: toWebhook(await getWebhook(call, cipher, fields)) }),
    createWebhook: async (fields, call) => ({ webhook: toWebhook(await createWebhook(call, parts, fields)) }),
    async listWebhooks(fields, call) {
      const { rows, nextPageToken } = await listWebhooks(call, pageTokens, fields);
      return { webhooks: rows.map(toWebhook), nextPageToken };
    },
    updateWebhook: async (fields, call) => ({ webhook: toWebhook(await updateWebhook(call, parts, fields)) }),
    async deleteWebhook(fields, call) {
      await deleteWebhook(call, fields);
      return {};
    },
    rotateSigningKey: async (fields, call) => ({ webhook: toWebhook(await rotateSigningKey(call, cipher, fields)) }),

    sendTestMessage: (fields, call) => sendTestMessage(call, fields),
    async listDeliveries(fields, call) {
      const { rows, nextPageToken } = await listDeliveries(call, pageTokens, fields);
      return { deliveries: rows.map(toMessage), nextPageToken };
    },
    async getDelivery(fields, call) {
      const { attempts, ...delivery } = await getDelivery(call, fields);
      return { delivery: { ...toMessage(delivery), attempts: attempts.map(toMessage) } };
    },
    async redeliver(fields, call) {
      await redeliver(call, fields);
      return {};
    },
    async redeliverFailed(fields, call) {
      await redeliverFailed(call, fields);
      return {};
    },
  };
}

function toWebhook<Row extends WebhookSummary>(webhook: Row) {
  return { ...toMessage(webhook), webhookId: webhook.id, owner: toMessage(webhook.owner) };
}
