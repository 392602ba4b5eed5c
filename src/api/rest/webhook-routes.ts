/** The REST routes of WebhookService. */
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { type Route, route } from './route.ts';

export const webhookRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/webhooks/:webhookId',
    rpc: WebhookService.method.getWebhook,
    message: 'Webhook retrieved successfully',
    resource: 'webhook',
    // Interface, "Webhook".
    documented: ['webhookId', 'signingKey', 'url', 'isActive', 'application', 'owner', 'createdAt', 'updatedAt'],
  }),
  route({
    method: 'GET',
    path: '/api/webhooks',
    rpc: WebhookService.method.listWebhooks,
    message: 'Webhooks retrieved successfully',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks',
    rpc: WebhookService.method.createWebhook,
    status: 201,
    message: 'Webhook created successfully',
    resource: 'webhook',
  }),
  route({
    method: 'PATCH',
    path: '/api/webhooks/:webhookId',
    rpc: WebhookService.method.updateWebhook,
    message: 'Webhook updated successfully',
    resource: 'webhook',
  }),
  route({
    method: 'DELETE',
    path: '/api/webhooks/:webhookId',
    rpc: WebhookService.method.deleteWebhook,
    message: 'Webhook deleted successfully',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/:webhookId/rotate-signing-key',
    rpc: WebhookService.method.rotateSigningKey,
    message: 'Signing key rotated successfully',
    resource: 'webhook',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/:webhookId/test',
    rpc: WebhookService.method.sendTestMessage,
    message: 'Test message accepted',
  }),
  route({
    method: 'GET',
    path: '/api/webhooks/:webhookId/deliveries',
    rpc: WebhookService.method.listDeliveries,
    message: 'Deliveries retrieved successfully',
  }),
  route({
    method: 'GET',
    path: '/api/webhooks/:webhookId/deliveries/:messageId',
    rpc: WebhookService.method.getDelivery,
    message: 'Delivery retrieved successfully',
    resource: 'delivery',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/:webhookId/deliveries/:messageId/redeliver',
    rpc: WebhookService.method.redeliver,
    message: 'Redelivery accepted',
  }),
  route({
    method: 'POST',
    path: '/api/webhooks/:webhookId/redeliver-failed',
    rpc: WebhookService.method.redeliverFailed,
    message: 'Redelivery accepted',
  }),
];
