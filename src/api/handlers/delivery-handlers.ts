import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { Delivery } from '../../domain/webhooks/delivery.ts';
import { type Attempt, getDelivery } from '../../domain/webhooks/get-delivery.ts';
import { listDeliveries } from '../../domain/webhooks/list-deliveries.ts';
import { redeliver } from '../../domain/webhooks/redeliver.ts';
import { redeliverFailed } from '../../domain/webhooks/redeliver-failed.ts';
import { sendTestMessage } from '../../domain/webhooks/send-test-message.ts';
import type { ApplicationHandlers } from '../procedures.ts';

export function createDeliveryHandlers(pageTokens: PageTokens) {
  return {
    async sendTestMessage(fields, call) {
      return sendTestMessage(call, fields);
    },

    async listDeliveries(fields, call) {
      const { rows, nextPageToken } = await listDeliveries(call, pageTokens, fields);
      return { deliveries: rows.map(toDelivery), nextPageToken };
    },

    async getDelivery(fields, call) {
      const { attempts, ...delivery } = await getDelivery(call, fields);
      return { delivery: { ...toDelivery(delivery), attempts: attempts.map(toAttempt) } };
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

function toDelivery(delivery: Delivery) {
  const { messageId, type, status, attemptCount, lastStatusCode, lastError, nextAttemptAt, createdAt } = delivery;
  return {
    messageId,
    type,
    status,
    attemptCount,
    ...(lastStatusCode !== null && { lastStatusCode }),
    ...(lastError !== null && { lastError }),
    ...(nextAttemptAt !== null && { nextAttemptAt: timestampFromDate(nextAttemptAt) }),
    createdAt: timestampFromDate(createdAt),
  };
}

function toAttempt({ at, durationMs, statusCode, error, responseBody }: Attempt) {
  return {
    at: timestampFromDate(at),
    durationMs,
    ...(statusCode !== null && { statusCode }),
    ...(error !== null && { error }),
    ...(responseBody !== null && { responseBody }),
  };
}
