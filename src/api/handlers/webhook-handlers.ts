import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { createWebhook } from '../../domain/webhooks/create-webhook.ts';
import { getWebhook } from '../../domain/webhooks/get-webhook.ts';
import type { SigningKeyCipher } from '../../domain/webhooks/signing-key-cipher.ts';
import type { Webhook } from '../../domain/webhooks/webhook.ts';
import type { ApplicationHandlers } from '../procedures.ts';

export function createWebhookHandlers(cipher: SigningKeyCipher): ApplicationHandlers<typeof WebhookService> {
  return {
    async getWebhook(fields, call) {
      return { webhook: toWebhook(await getWebhook(call, cipher, fields)) };
    },

    async createWebhook(fields, call) {
      return { webhook: toWebhook(await createWebhook(call, cipher, fields)) };
    },
  };
}

function toWebhook({ id, signingKey, url, isActive, application, owner, createdAt, updatedAt }: Webhook) {
  return {
    webhookId: id,
    signingKey,
    url,
    isActive,
    application: { id: application.id, name: application.name, clientId: application.clientId },
    owner: { id: owner.id, name: owner.name ?? '', email: owner.email },
    createdAt: timestampFromDate(createdAt),
    updatedAt: timestampFromDate(updatedAt),
  };
}
