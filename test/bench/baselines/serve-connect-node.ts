/**
 * What a user would pick: connect-node's own adapter, with interceptors, and handlers that call Usher's
 * verbs. HTTP/1.1 and HTTP/2 on a port each, as connect-node serves them.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createContextKey,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { AuthService } from '../../../gen/usher/v1/auth_pb.ts';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { WebhookService } from '../../../gen/usher/v1/webhook_pb.ts';
import { readConfig } from '../../../src/config/config.ts';
import { Database } from '../../../src/database/database.ts';
import { ApiKeys } from '../../../src/domain/api-keys/api-keys.ts';
import type { ApplicationCall } from '../../../src/domain/call.ts';
import { type ErrorKind, ServiceError } from '../../../src/domain/errors.ts';
import { checkIn } from '../../../src/domain/events/check-in.ts';
import { deleteEvent } from '../../../src/domain/events/delete-event.ts';
import { AuthTokens } from '../../../src/domain/login/auth-tokens.ts';
import { createAuthPageLink, generateAuthUrl } from '../../../src/domain/login/generate-auth-url.ts';
import { exchangeToken } from '../../../src/domain/sessions/exchange-token.ts';
import { getWebhook } from '../../../src/domain/webhooks/get-webhook.ts';
import { SigningKeyCipher } from '../../../src/domain/webhooks/signing-key-cipher.ts';
import { createLogger } from '../../../src/log.ts';
import { BaselineCall } from './baseline-call.ts';

const CODES: Record<ErrorKind, Code> = {
  invalid: Code.InvalidArgument,
  unauthenticated: Code.Unauthenticated,
  'not-found': Code.NotFound,
  'already-exists': Code.AlreadyExists,
  'failed-precondition': Code.FailedPrecondition,
  'too-many': Code.ResourceExhausted,
};

const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'));
const logger = createLogger(config.logLevel);
const database = new Database(config.databaseUrl ?? '', {
  connections: config.databaseConnections,
  statementTimeoutMs: config.requestTimeoutMs,
});
const apiKeys = new ApiKeys((statement, parameters) =>
  database.run(statement, parameters, performance.now() + config.requestTimeoutMs),
);
const cipher = new SigningKeyCipher(config.secrets.encryptionKeys ?? []);
const tokens = await AuthTokens.create(config.publicUrl ?? '', config.secrets.authSigningKeys ?? []);
const linkTo = createAuthPageLink(config.authPageUrl ?? '');
const callKey = createContextKey<ApplicationCall | undefined>(undefined);

const authenticate: Interceptor = (next) => async (request) => {
  const baseline = new BaselineCall(request.service.typeName, request.header.get('x-request-id') ?? undefined);
  const deadline = baseline.startedAt + config.requestTimeoutMs;
  const run = database.within(deadline);
  let code: Code | undefined;
  try {
    baseline.application = await apiKeys.authenticate(request.header.get('x-api-key') ?? undefined, { deadline });
    request.contextValues.set(callKey, { application: baseline.application, run, now: new Date() });
    const response = await next(request);
    response.header.set('x-request-id', baseline.requestId);
    response.header.set('cache-control', 'no-store');
    return response;
  } catch (error) {
    code = error instanceof ServiceError ? CODES[error.kind] : Code.Internal;
    throw new ConnectError(error instanceof ServiceError ? error.message : 'Internal error', code);
  } finally {
    const method = `${request.service.typeName}/${request.method.name}`;
    baseline.log(logger, { method, code: code === undefined ? 'ok' : Code[code], status: 200 });
  }
};

function routes(router: ConnectRouter): void {
  router.service(WebhookService, {
    async getWebhook(request, context) {
      const { id, owner, createdAt, updatedAt, application, ...webhook } = await getWebhook(
        callOf(context),
        cipher,
        request,
      );
      return {
        webhook: {
          ...webhook,
          webhookId: id,
          application: { id: application.id, name: application.name, clientId: application.clientId },
          owner: { ...owner, name: owner.name ?? '' },
          createdAt: timestampFromDate(createdAt),
          updatedAt: timestampFromDate(updatedAt),
        },
      };
    },
  });
  router.service(AuthService, {
    generateAuthUrl: (request, context) => generateAuthUrl(callOf(context), linkTo, request),
    async exchangeToken(request, context) {
      const peer = { ipAddress: '127.0.0.1', userAgent: context.requestHeader.get('user-agent') ?? '' };
      const { id, createdAt, name, profileImage, email, walletAddress } = await exchangeToken(
        callOf(context),
        tokens,
        peer,
        request,
      );
      return {
        user: { email, walletAddress, ...(name !== null && { name }), ...(profileImage !== null && { profileImage }) },
        session: { id, createdAt: timestampFromDate(createdAt) },
      };
    },
  });
  router.service(EventService, {
    async deleteEvent(request, context) {
      await deleteEvent(callOf(context), request);
      return {};
    },
    async checkIn(request, context) {
      const { attendeeId, checkedInAt, alreadyCheckedIn } = await checkIn(callOf(context), request);
      return { checkIn: { attendeeId, checkedInAt: timestampFromDate(checkedInAt) }, alreadyCheckedIn };
    },
  });
}

function callOf(context: HandlerContext): ApplicationCall {
  const call = context.values.get(callKey);
  if (!call) throw new Error('The context has no call');
  return call;
}

const handler = connectNodeAdapter({ routes, interceptors: [authenticate] });
createServer(handler).listen(config.port, config.host);
createHttp2Server(handler).listen(Number(process.env.HTTP2_PORT), config.host);
