/** What a user would pick: `@grpc/grpc-js`, with SQL by hand on the same lanes as the floor. */
import { readFileSync } from 'node:fs';
import type { DescMethodUnary, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type handleUnaryCall, Metadata, Server, ServerCredentials, type ServerUnaryCall, status } from '@grpc/grpc-js';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { readConfig } from '../../../src/config/config.ts';
import type { Application } from '../../../src/domain/call.ts';
import { type ErrorKind, ServiceError } from '../../../src/domain/errors.ts';
import { createLogger } from '../../../src/log.ts';
import { BaselineCall } from './baseline-call.ts';
import { definitionOf } from './grpc-definition.ts';
import { openConnections } from './open-connections.ts';
import { createSqlStatements } from './sql-statements.ts';
import { createVerbs } from './verbs.ts';

const CODES: Record<ErrorKind, status> = {
  invalid: status.INVALID_ARGUMENT,
  unauthenticated: status.UNAUTHENTICATED,
  'not-found': status.NOT_FOUND,
  'already-exists': status.ALREADY_EXISTS,
  'failed-precondition': status.FAILED_PRECONDITION,
  'too-many': status.RESOURCE_EXHAUSTED,
};

const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
const logger = createLogger(config.logLevel);
const verbs = createVerbs(createSqlStatements(openConnections(config.databaseUrl ?? '')), config);

const server = new Server();
server.addService(definitionOf(WebhookService), {
  getWebhook: serve(WebhookService.method.getWebhook, async (request, application) => {
    const { createdAt, updatedAt, ...webhook } = await verbs.getWebhook(application, request);
    const times = { createdAt: timestampFromDate(createdAt), updatedAt: timestampFromDate(updatedAt) };
    return { webhook: { ...webhook, ...times } };
  }),
});
server.addService(definitionOf(AuthService), {
  exchangeToken: serve(AuthService.method.exchangeToken, async (request, application, call) => {
    const peer = { ipAddress: call.getPeer(), userAgent: String(call.metadata.get('user-agent')[0] ?? '') };
    const { user, session } = await verbs.exchangeToken(application, peer, request);
    const { profileImage, ...profile } = user;
    return {
      user: { ...profile, ...(profileImage !== null && { profileImage }) },
      session: { id: session.id, createdAt: timestampFromDate(session.createdAt) },
    };
  }),
  generateAuthUrl: serve(AuthService.method.generateAuthUrl, (request, application) =>
    verbs.generateAuthUrl(application, request),
  ),
});
server.addService(definitionOf(EventService), {
  deleteEvent: serve(EventService.method.deleteEvent, async (request, application) => {
    await verbs.deleteEvent(application, request);
    return {};
  }),
  checkIn: serve(EventService.method.checkIn, async (request, application) => {
    const { checkIn, alreadyCheckedIn } = await verbs.checkIn(application, request);
    const { attendeeId, checkedInAt } = checkIn;
    return { checkIn: { attendeeId, checkedInAt: timestampFromDate(checkedInAt) }, alreadyCheckedIn };
  }),
});
server.bindAsync(`${config.host}:${config.port}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});

type Run<Method extends DescMethodUnary> = (
  request: MessageShape<Method['input']>,
  application: Application,
  call: ServerUnaryCall<MessageShape<Method['input']>, MessageInitShape<Method['output']>>,
) => Promise<MessageInitShape<Method['output']>>;

/** The credential, the call and its log line. */
function serve<Method extends DescMethodUnary>(
  method: Method,
  run: Run<Method>,
): handleUnaryCall<MessageShape<Method['input']>, MessageInitShape<Method['output']>> {
  const procedure = `${method.parent.typeName}/${method.name}`;
  return async (call, callback) => {
    const apiKey = call.metadata.get('x-api-key')[0];
    const baseline = new BaselineCall('grpc', call.metadata.get('x-request-id').map(String)[0]);
    const metadata = new Metadata();
    metadata.set('x-request-id', baseline.requestId);
    metadata.set('cache-control', 'no-store');
    call.sendMetadata(metadata);
    let code = status.OK;
    try {
      baseline.application = await verbs.authenticate(apiKey === undefined ? undefined : String(apiKey));
      callback(null, await run(call.request, baseline.application, call));
    } catch (error) {
      code = error instanceof ServiceError ? CODES[error.kind] : status.INTERNAL;
      callback({ code, details: error instanceof ServiceError ? error.message : 'Internal error' });
    }
    baseline.log(logger, { method: procedure, code: code === status.OK ? 'ok' : String(code), status: 200 });
  };
}
