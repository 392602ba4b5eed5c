/** The REST routes of WebhookService. */
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { PAGE, type Route, route } from './route.ts';

/** What callers set of a webhook. */
const WEBHOOK = {
  url: 'body',
  ownerId: 'body',
  isActive: 'body',
  eventTypes: 'body',
  ordered: 'body',
  description: 'body',
} as const;

export const webhookRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/webhooks/:webhookId',
    rpc: WebhookService.method.getWebhook,
    fields: { webhookId: 'path' },
    message: 'Webhook retrieved successfully',
    resource: 'webhook',
    // Interface, "Webhook".
    documented: ['webhookId', 'signingKey', 'url', 'isActive', 'application', 'owner', 'createdAt', 'updatedAt'],
  }),
  route({
    method: 'GET',
    path: '/api/webhooks',
    rpc: WebhookService.method.listWebhooks,
    fields: PAGE,
    message: 'Webhooks retrieved successfully',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks',
    rpc: WebhookService.method.createWebhook,
    fields: WEBHOOK,
    status: 201,
    message: 'Webhook created successfully',
    resource: 'webhook',
  }),
  route({
    method: 'PATCH',
    path: '/api/webhooks/:webhookId',
    rpc: WebhookService.method.updateWebhook,
    fields: { webhookId: 'path', ...WEBHOOK },
    message: 'Webhook updated successfully',
    resource: 'webhook',
  }),
  route({
    method: 'DELETE',
    path: '/api/webhooks/:webhookId',
    rpc: WebhookService.method.deleteWebhook,
    fields: { webhookId: 'path' },
    message: 'Webhook deleted successfully',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/:webhookId/rotate-signing-key',
    rpc: WebhookService.method.rotateSigningKey,
    fields: { webhookId: 'path', overlapSeconds: 'body' },
    message: 'Signing key rotated successfully',
    resource: 'webhook',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/:webhookId/test',
    rpc: WebhookService.method.sendTestMessage,
    fields: { webhookId: 'path' },
    message: 'Test message accepted',
  }),
  route({
    method: 'GET',
    path: '/api/webhooks/:webhookId/deliveries',
    rpc: WebhookService.method.listDeliveries,
    fields: { webhookId: 'path', status: 'query', since: 'query', ...PAGE },
    message: 'Deliveries retrieved successfully',
  }),
  route({
    method: 'GET',
    path: '/api/webhooks/:webhookId/deliveries/:messageId',
    rpc: WebhookService.method.getDelivery,
    fields: { webhookId: 'path', messageId: 'path' },
    message: 'Delivery retrieved successfully',
    resource: 'delivery',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/:webhookId/deliveries/:messageId/redeliver',
    rpc: WebhookService.method.redeliver,
    fields: { webhookId: 'path', messageId: 'path' },
    message: 'Redelivery accepted',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/:webhookId/redeliver-failed',
    rpc: WebhookService.method.redeliverFailed,
    fields: { webhookId: 'path', since: 'body' },
    message: 'Redelivery accepted',
  }),
];
