import type { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import { getDelivery } from '../../domain/webhooks/get-delivery.ts';
import { listDeliveries } from '../../domain/webhooks/list-deliveries.ts';
import { redeliver } from '../../domain/webhooks/redeliver.ts';
import { redeliverFailed } from '../../domain/webhooks/redeliver-failed.ts';
import { sendTestMessage } from '../../domain/webhooks/send-test-message.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export function createDeliveryHandlers(pageTokens: PageTokens) {
  return {
    async sendTestMessage(fields, call) {
      return sendTestMessage(call, fields);
    },

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
  } satisfies Partial<ApplicationHandlers<typeof WebhookService>>;
}
