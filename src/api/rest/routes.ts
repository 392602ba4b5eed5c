/** The documented REST routes, a row each. */
import type { DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { presentAuthUrl, presentExchange, presentWebhook } from './present.ts';

/** Where a field of the RPC's request is found in the HTTP request, under the field's own name. */
type Source = 'path' | 'query' | 'body';

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Its last segment may be a parameter, as in `/api/webhooks/:webhookId`. */
  readonly path: string;
  readonly rpc: DescMethodUnary;
  readonly fields: Readonly<Record<string, Source>>;
  /** The message of a success. */
  readonly message: string;
  /** The `data` of a success, or undefined where there is none. */
  present(response: unknown): unknown;
}

export const routes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/api/oauth/generate-auth-url',
    rpc: AuthService.method.generateAuthUrl,
    fields: { clientId: 'query', redirectUri: 'body', state: 'body' },
    message: 'Auth URL generated successfully',
    present: presentAuthUrl,
  }),
  route({
    method: 'POST',
    path: '/api/oauth/exchange',
    rpc: AuthService.method.exchangeToken,
    fields: { authToken: 'body' },
    message: 'Token exchanged successfully',
    present: presentExchange,
  }),
  route({
    method: 'GET',
    path: '/api/webhooks/:webhookId',
    rpc: WebhookService.method.getWebhook,
    fields: { webhookId: 'path' },
    message: 'Webhook retrieved successfully',
    present: presentWebhook,
  }),
  route({
    method: 'DELETE',
    path: '/api/events/:eventId',
    rpc: EventService.method.deleteEvent,
    fields: { eventId: 'path' },
    message: 'Event deleted successfully',
    present: () => undefined,
  }),
];

/** Ties `present` to the response of the row's own RPC. */
function route<Rpc extends DescMethodUnary>(
  row: Omit<Route, 'rpc' | 'present'> & { rpc: Rpc; present(response: MessageInitShape<Rpc['output']>): unknown },
): Route {
  return row as Route;
}
