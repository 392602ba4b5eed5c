/** A port with the members of a `TestUsher` as JSON over POST, for tests in other languages. */
import { randomBytes } from 'node:crypto';
import { refuseMethod, renderFailure, sendError, sendFailure, statusOfError } from '../api/envelope.ts';
import { readJsonObject } from '../api/rest/read-fields.ts';
import { fieldsOf, reasonOf } from '../client/errors.ts';
import { ERRORS, ServiceError } from '../domain/core/errors.ts';
import { AdminKeys } from '../domain/operators/admin-keys.ts';
import { createBlockList } from '../domain/webhooks/address-policy.ts';
import { isObject } from '../encoding/json.ts';
import { HttpError } from '../http/errors.ts';
import { headerOf, sendJson } from '../http/exchange.ts';
import type { HttpContext } from '../http/http-context.ts';
import { Listener } from '../http/listener.ts';
import { serveRoutes } from '../http/route-table.ts';
import { type ControlMember, createControlMembers } from './control-members.ts';
import type { TestUsher } from './test-usher.ts';

const HOST = '127.0.0.1';
const BODY_TIMEOUT_MS = 5_000;
/** How long a connection may be idle: a test may think for minutes. */
const KEEP_ALIVE_TIMEOUT_MS = 600_000;
const CLOSE_TIMEOUT_MS = 1_000;

/** The errors of the port itself, beside those of HTTP. Members answer the reasons of Usher. */
export const CONTROL_ERRORS = {
  INVALID_CONTROL_KEY: [401, 'Invalid control key'],
  ORIGIN_NOT_ALLOWED: [403, 'Requests of web pages are not allowed'],
  MEMBER_FAILED: [409, 'The call has failed'],
} as const;

export interface ControlPort extends AsyncDisposable {
  readonly url: string;
  readonly key: string;
}

/** @param stop ends the process, after the answer to `/stop` */
export async function openControlPort(
  usher: TestUsher,
  { port, stop }: { port: number; stop(): void },
): Promise<ControlPort> {
  const listener = await Listener.open({
    host: HOST,
    port,
    tls: undefined,
    trustedProxies: createBlockList([]),
    keepAliveTimeoutMs: KEEP_ALIVE_TIMEOUT_MS,
    renderError: renderFailure,
  });
  const key = randomBytes(32).toString('base64url');
  const keys = new AdminKeys([{ name: 'control', key }]);
  const hosts = [HOST, 'localhost'].map((name) => `${name}:${listener.port}`);
  const members: Record<string, ControlMember> = {
    ...createControlMembers(usher),
    '/stop': () => void setImmediate(stop),
  };
  const routes = Object.entries(members).map(([path, run]) => ({
    method: 'POST',
    path,
    async run(context: HttpContext) {
      try {
        const deadline = context.receivedAt + BODY_TIMEOUT_MS;
        const answer = await run(await readJsonObject(context.request, deadline, { isLenient: false }));
        sendJson(context, 200, JSON.stringify(answer ?? {}));
      } catch (error) {
        if (error instanceof ServiceError || error instanceof HttpError) sendError(context, error);
        else sendFailedMember(context, error);
      }
    },
  }));
  const serve = serveRoutes(routes, refuseMethod);
  listener.serve({
    handlers: [
      async (context) => {
        const refusal = findRefusal(context, hosts, keys);
        if (refusal === undefined) return serve(context);
        if (refusal === 'INVALID_HOST') sendFailure(context, refusal);
        else sendControlError(context, refusal);
        return true;
      },
    ],
    handleStream: () => false,
    pathsWithoutHost: new Set(),
    onError: (error) => process.stderr.write(`usher-testing: ${error}\n`),
  });
  return {
    url: `http://${HOST}:${listener.port}`,
    key,
    [Symbol.asyncDispose]: () => listener.close(CLOSE_TIMEOUT_MS),
  };
}

/**
 * A page of others can let the name of its host resolve to this machine (DNS rebinding), and browsers name the origin of
 * a page in every POST.
 */
function findRefusal(context: HttpContext, hosts: readonly string[], keys: AdminKeys) {
  const host = headerOf(context, 'host') ?? headerOf(context, ':authority') ?? '';
  if (!hosts.includes(host.toLowerCase())) return 'INVALID_HOST';
  if ('origin' in context.headers || 'sec-fetch-site' in context.headers) return 'ORIGIN_NOT_ALLOWED';
  const [, given = ''] = /^Bearer (.+)$/i.exec(headerOf(context, 'authorization') ?? '') ?? [];
  return keys.find(given) ? undefined : 'INVALID_CONTROL_KEY';
}

/** Answers as REST does where Usher has refused. */
function sendFailedMember(context: HttpContext, error: unknown): void {
  const { message = String(error), reason: own } = isObject(error) ? error : {};
  const reason = reasonOf(error) ?? own;
  const errors = fieldsOf(error);
  const [, known] = Object.entries(ERRORS).find(([name]) => name === reason) ?? [];
  const status = known ? statusOfError(known[0], String(reason)) : undefined;
  const fields = { ...(reason !== undefined && { reason }), ...(errors.length > 0 && { errors }) };
  sendControlError(context, 'MEMBER_FAILED', { message, ...fields }, status);
}

function sendControlError(
  context: HttpContext,
  name: keyof typeof CONTROL_ERRORS,
  fields: Record<string, unknown> = {},
  status: number = CONTROL_ERRORS[name][0],
): void {
  sendJson(
    context,
    status,
    JSON.stringify({ status: false, message: CONTROL_ERRORS[name][1], reason: name, ...fields }),
  );
}
