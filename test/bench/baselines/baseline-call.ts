/** What the baselines know about a call. They log the same line for it as Usher. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Application } from '../../../src/domain/call.ts';

export const PROCEDURES = {
  getWebhook: 'usher.v1.WebhookService/GetWebhook',
  exchangeToken: 'usher.v1.AuthService/ExchangeToken',
  generateAuthUrl: 'usher.v1.AuthService/GenerateAuthUrl',
  deleteEvent: 'usher.v1.EventService/DeleteEvent',
  checkIn: 'usher.v1.EventService/CheckIn',
} as const;

export class BaselineCall {
  readonly requestId: string;
  readonly protocol: string;
  readonly startedAt = performance.now();
  application: Application | undefined;

  constructor(protocol: string, requestId: string | string[] | undefined) {
    this.protocol = protocol;
    const isWellFormed = typeof requestId === 'string' && /^[\w.:+/=-]{1,128}$/.test(requestId);
    this.requestId = isWellFormed ? requestId : randomUUID();
  }

  log(logger: Logger, { method, code, status }: { method: string; code: string; status: number }): void {
    logger.info(
      {
        requestId: this.requestId,
        protocol: this.protocol,
        method,
        code,
        status,
        durationMs: Math.round((performance.now() - this.startedAt) * 100) / 100,
        application: this.application?.id,
      },
      'call',
    );
  }
}
