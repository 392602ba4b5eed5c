import type { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import type { PageTokens } from '../../domain/pages/page-tokens.ts';
import type { AddressPolicy } from '../../domain/webhooks/address-policy.ts';
import { createWebhook } from '../../domain/webhooks/create-webhook.ts';
import { deleteWebhook } from '../../domain/webhooks/delete-webhook.ts';
import { getWebhook } from '../../domain/webhooks/get-webhook.ts';
import { listWebhooks } from '../../domain/webhooks/list-webhooks.ts';
import { rotateSigningKey } from '../../domain/webhooks/rotate-signing-key.ts';
import type { SigningKeyCipher } from '../../domain/webhooks/signing-key-cipher.ts';
import { updateWebhook } from '../../domain/webhooks/update-webhook.ts';
import type { WebhookSummary } from '../../domain/webhooks/webhook.ts';
import type { ApplicationHandlers } from '../procedures.ts';
import { toMessage } from './to-message.ts';

export interface WebhookParts {
  readonly cipher: SigningKeyCipher;
  readonly pageTokens: PageTokens;
  readonly policy: AddressPolicy;
}

export function createWebhookHandlers(parts: WebhookParts) {
  const { cipher, pageTokens } = parts;
  return {
    async getWebhook(fields, call) {
      return { webhook: toWebhook(await getWebhook(call, cipher, fields)) };
    },

    async createWebhook(fields, call) {
      return { webhook: toWebhook(await createWebhook(call, parts, fields)) };
    },

    async listWebhooks(fields, call) {
      const { rows, nextPageToken } = await listWebhooks(call, pageTokens, fields);
      return { webhooks: rows.map(toWebhook), nextPageToken };
    },

    async updateWebhook(fields, call) {
      return { webhook: toWebhook(await updateWebhook(call, parts, fields)) };
    },

    async deleteWebhook(fields, call) {
      await deleteWebhook(call, fields);
      return {};
    },

    async rotateSigningKey(fields, call) {
      return { webhook: toWebhook(await rotateSigningKey(call, cipher, fields)) };
    },
  } satisfies Partial<ApplicationHandlers<typeof WebhookService>>;
}

function toWebhook<Row extends WebhookSummary>(webhook: Row) {
  return { ...toMessage(webhook), webhookId: webhook.id, owner: toMessage(webhook.owner) };
}
