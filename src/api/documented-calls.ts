import type { DescMethod } from '@bufbuild/protobuf';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';

/** The calls of the contract. They have always ignored unknown fields, and applications may rely on that. */
const LENIENT: readonly DescMethod[] = [
  AuthService.method.generateAuthUrl,
  AuthService.method.exchangeToken,
  WebhookService.method.getWebhook,
  EventService.method.deleteEvent,
];

/** Returns whether the call ignores fields and query parameters that it does not know. */
export function ignoresUnknownFields(method: DescMethod): boolean {
  return LENIENT.includes(method);
}
