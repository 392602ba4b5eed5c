/** The RPCs of the benchmark, with the generated messages that all servers use. */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { AuthService } from '../../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../../gen/usher/v1/webhook_pb.ts';
import type { Caller, Operations } from './operations.ts';

export type ResponseInit = MessageInitShape<DescMessage>;

export interface RpcMethod {
  readonly method: DescMethodUnary;
  /** @throws ServiceError */
  run(caller: Caller, request: MessageShape<DescMessage>): Promise<ResponseInit>;
}

export function createRpcMethods(operations: Operations): readonly RpcMethod[] {
  return [
    rpc(WebhookService.method.getWebhook, async (caller, request) => {
      const { createdAt, updatedAt, ...webhook } = await operations.getWebhook(caller, request);
      const times = { createdAt: timestampFromDate(createdAt), updatedAt: timestampFromDate(updatedAt) };
      return { webhook: { ...webhook, ...times } };
    }),
    rpc(AuthService.method.exchangeToken, async (caller, request) => {
      const { user, session } = await operations.exchangeToken(caller, request);
      const { profileImage, ...profile } = user;
      return {
        user: { ...profile, ...(profileImage !== null && { profileImage }) },
        session: { id: session.id, createdAt: timestampFromDate(session.createdAt) },
      };
    }),
    rpc(AuthService.method.generateAuthUrl, operations.generateAuthUrl),
    rpc(EventService.method.deleteEvent, async (caller, request) => {
      await operations.deleteEvent(caller, request);
      return {};
    }),
    rpc(EventService.method.checkIn, async (caller, request) => {
      const { checkIn, alreadyCheckedIn } = await operations.checkIn(caller, request);
      const { attendeeId, checkedInAt } = checkIn;
      return { checkIn: { attendeeId, checkedInAt: timestampFromDate(checkedInAt) }, alreadyCheckedIn };
    }),
  ];
}

export function decodeRequest({ input }: DescMethodUnary, bytes: Uint8Array): MessageShape<DescMessage> {
  return fromBinary(input, bytes);
}

export function encodeResponse({ output }: DescMethodUnary, response: ResponseInit): Uint8Array<ArrayBuffer> {
  return toBinary(output, create(output, response));
}

function rpc<Method extends DescMethodUnary>(
  method: Method,
  run: (caller: Caller, request: MessageShape<Method['input']>) => Promise<MessageInitShape<Method['output']>>,
): { method: Method; run: typeof run } {
  return { method, run };
}
