/** A service with an application that has a webhook, for tests of the transport: GetWebhook in every form. */
import { expect } from 'vitest';
import { type HttpReply, type HttpRequest, request } from './http.ts';
import {
  clientsOf,
  createTenant,
  createTestUser,
  startTestService,
  type Tenant,
  type TestService,
  type TestServiceOptions,
  type TestUser,
} from './service.ts';

type Reply = Pick<HttpReply, 'status' | 'body'>;

export class WebhookFixture implements AsyncDisposable {
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly owner: TestUser;
  readonly webhookId: string;

  private constructor(parts: Pick<WebhookFixture, 'service' | 'tenant' | 'owner' | 'webhookId'>) {
    this.service = parts.service;
    this.tenant = parts.tenant;
    this.owner = parts.owner;
    this.webhookId = parts.webhookId;
  }

  static async open(options?: TestServiceOptions): Promise<WebhookFixture> {
    const service = await startTestService(options);
    const tenant = await createTenant(service);
    const owner = await createTestUser(service, { name: 'Ada' });
    const fields = { url: 'https://example.com/hooks', ownerId: owner.id };
    const { webhook } = await clientsOf(service, tenant).webhooks.createWebhook(fields);
    return new WebhookFixture({ service, tenant, owner, webhookId: webhook?.webhookId ?? '' });
  }

  readonly close = () => this.service.close();
  readonly [Symbol.asyncDispose] = this.close;

  get key(): Record<string, string> {
    return { 'x-api-key': this.tenant.apiKey };
  }

  /** The request over REST. */
  get rest(): HttpRequest {
    return { path: `/api/webhooks/${this.webhookId}`, headers: this.key };
  }

  /** The head of the request over HTTP/2. */
  get http2(): Record<string, string> {
    return { ':path': `/api/webhooks/${this.webhookId}`, ...this.key };
  }

  /** The bytes of the request over HTTP/1.1. */
  raw(requestId = 'raw'): string {
    return (
      `GET /api/webhooks/${this.webhookId} HTTP/1.1\r\nHost: localhost\r\n` +
      `X-API-Key: ${this.tenant.apiKey}\r\nX-Request-Id: ${requestId}\r\n\r\n`
    );
  }

  expectWebhook({ status, body }: Reply): void {
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ status: true, data: { webhookId: this.webhookId } });
  }

  /** Makes the call over a new connection. */
  async expectHealthy(): Promise<void> {
    this.expectWebhook(await request(this.service.url, this.rest));
  }
}
