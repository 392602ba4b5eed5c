/** The API: one pipeline, and on top of it an edge per protocol. */
import type { Secrets } from '../config/secrets.ts';
import type { CreateIntrospection, IntrospectToken } from '../domain/grants/token-status.ts';
import { deriveLoginCodeKeys } from '../domain/login/login-code.ts';
import { MessageFeeds } from '../domain/messages/message-feeds.ts';
import { Revocations } from '../domain/sessions/list-revocations.ts';
import { LiveSessions } from '../domain/sessions/live-sessions.ts';
import { serveRoutes } from '../http/route-table.ts';
import { Admission } from './admission.ts';
import { refuseMethod } from './envelope.ts';
import { createWatchStream } from './handlers/watch-stream.ts';
import { createOperationsRoutes } from './operations/endpoints.ts';
import { createAuditLogExports } from './operations/export-audit-log.ts';
import { createCheckInExports } from './operations/export-check-ins.ts';
import { createUserExport } from './operations/export-users.ts';
import { Exporter } from './operations/exporter.ts';
import { createHealthMonitor } from './operations/health.ts';
import { createUserImport } from './operations/import-users.ts';
import type { Readiness } from './operations/readiness.ts';
import { createSelfCheckRoute } from './operations/self-check.ts';
import { Pipeline, type PipelineParts } from './pipeline.ts';
import { createRestRoutes } from './rest/rest.ts';
import { createRpcEdge } from './rpc/rpc.ts';
import type { ServiceParts } from './service-parts.ts';
import { createProcedures } from './services.ts';

/** A fast Postgres needs a few tenths of a second for the maximum. */
const APPLICATION_LIMITS = { min: 32, max: 1_000 };
/** Fixed, because look-ups are cheap: keys in use are cached, and other keys are looked up in batches. */
const LOOK_UP_LIMITS = { min: 1_000, max: 1_000 };

export interface ApiParts
  extends Omit<PipelineParts, 'admission' | 'lookUps'>,
    Omit<ServiceParts, 'codeKeys' | 'health' | 'introspectToken' | 'liveSessions' | 'revocations'> {
  readonly secrets: Pick<Secrets, 'encryptionKeys'>;
  /** Aborted when the server ends its streams. */
  readonly closing: AbortSignal;
  /** Without it, no token is active. */
  readonly createIntrospection: CreateIntrospection | undefined;
  readonly readiness: Readiness;
}

const knowNoToken: IntrospectToken = async () => ({ active: false });

export type Api = ReturnType<typeof createApi>;

export function createApi(parts: ApiParts) {
  const { apiKeys, closing, database, logger, readiness, requestTimeoutMs } = parts;
  // Several calls share an answer, so that of none must end at the deadline of one.
  const runShared = database.eachWithin(requestTimeoutMs);
  const liveSessions = new LiveSessions(runShared);
  const admission = new Admission(APPLICATION_LIMITS, requestTimeoutMs);
  const lookUps = new Admission(LOOK_UP_LIMITS, requestTimeoutMs);
  const pipeline = new Pipeline({ ...parts, admission, lookUps });
  const exporter = new Exporter(closing, logger, { max: 2 });
  // Applications have others, so that they cannot keep operators from the audit log, or each other from their check-ins.
  const downloads = new Exporter(closing, logger, { max: 16, maxPerOwner: 2 });
  const codeKeys = deriveLoginCodeKeys(parts.secrets.encryptionKeys);
  const health = createHealthMonitor(readiness, closing);
  const introspectToken = parts.createIntrospection?.({ run: runShared, liveSessions }) ?? knowNoToken;
  /** Makes this replica see at once what has ended sessions of the user. */
  const onSignedOut = (userId: string) => liveSessions.forgetUser(userId);
  const revocations = new Revocations(runShared, requestTimeoutMs);
  const serviceParts = { ...parts, codeKeys, health, introspectToken, liveSessions, revocations };
  const procedures = createProcedures(serviceParts);
  const feeds = new MessageFeeds(database, requestTimeoutMs);
  const watchMessages = createWatchStream(feeds, { ...parts, admission, lookUps });
  const rpcEdge = createRpcEdge(procedures, pipeline, { health, watchMessages }, parts);
  const routes = [
    ...createRestRoutes(procedures, pipeline),
    ...createCheckInExports({ ...parts, admission, exporter: downloads, lookUps }),
    ...createOperationsRoutes(parts),
    createSelfCheckRoute(parts),
    ...createAuditLogExports({ ...parts, exporter }),
    createUserExport({ ...parts, exporter }),
    createUserImport({ ...parts, onSignedOut }),
  ];
  return {
    admissions: { api: admission, key_lookup: lookUps },
    exporter,
    onFannedOut: feeds.wake,
    refreshStreams: feeds.refresh,
    onSignedOut,
    procedures,
    runShared,
    caches: { api_keys: apiKeys, sessions: liveSessions },
    /** They are asked in this order. */
    handlers: [serveRoutes(routes, refuseMethod), rpcEdge.handle],
    handleStream: rpcEdge.handleStream,
  };
}
