import type { DescMethod } from '@bufbuild/protobuf';
import { AuthService } from '../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../gen/usher/v1/webhook_pb.ts';

/** The calls whose contract is older than Usher's strictness: they ignore what they do not know. */
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
