/** A service with an application that has a webhook, and the requests to get it. */
import { expect } from 'vitest';
import { type HttpReply, request } from './http.ts';
import {
  createTenant,
  createTestUser,
  createTestWebhook,
  startTestService,
  type TestServiceOptions,
} from './service.ts';

export async function openWebhookFixture(options: TestServiceOptions = {}) {
  const service = await startTestService(options);
  const tenant = await createTenant(service);
  const owner = await createTestUser(service, { name: 'Ada' });
  const { webhookId } = await createTestWebhook(service, tenant, {
    ownerId: owner.id,
    url: 'https://example.com/hooks',
  });
  const path = `/api/webhooks/${webhookId}`;
  const key = { 'x-api-key': tenant.apiKey };
  const expectWebhook = ({ status, body }: Pick<HttpReply, 'status' | 'body'>) => {
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ status: true, data: { webhookId } });
  };
  return {
    service,
    tenant,
    owner,
    webhookId,
    key,
    /** The request over REST. */
    rest: { path, headers: key },
    /** The headers of the request over HTTP/2. */
    http2: { ':path': path, ...key },
    /** Returns the bytes of the request over HTTP/1.1. */
    raw: (requestId = 'raw') =>
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${tenant.apiKey}\r\nX-Request-Id: ${requestId}\r\n\r\n`,
    expectWebhook,
    /** Makes the call over a new connection. */
    expectHealthy: async () => expectWebhook(await request(service.url, { path, headers: key })),
    close: service.close,
  };
}
