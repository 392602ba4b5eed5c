import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ServiceImpl } from '@connectrpc/connect';
import type { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';
import { createWebhook } from '../core/webhooks/create-webhook.ts';
import { getWebhook } from '../core/webhooks/get-webhook.ts';
import type { SigningKeyCipher } from '../core/webhooks/signing-key-cipher.ts';
import type { Webhook } from '../core/webhooks/webhook.ts';
import { applicationCallOf } from './call.ts';

export function createWebhookHandlers(cipher: SigningKeyCipher): ServiceImpl<typeof WebhookService> {
  return {
    async getWebhook(request, context) {
      return { webhook: toWebhook(await getWebhook(applicationCallOf(context), cipher, request)) };
    },

    async createWebhook(request, context) {
      return { webhook: toWebhook(await createWebhook(applicationCallOf(context), cipher, request)) };
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
