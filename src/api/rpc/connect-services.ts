/** What Connect needs to serve RPCs: each behind its gate, with the call in its context. */
import type { DescService } from '@bufbuild/protobuf';
import type { ConnectRouter, ServiceImpl } from '@connectrpc/connect';
import type { UniversalHandlerOptions } from '@connectrpc/connect/protocol';
import type { Logger } from 'pino';
import { callOf } from '../call.ts';
import { createErrorInterceptor, toConnectError } from '../errors.ts';
import { type Gate, openGate } from '../gate.ts';
import type { Procedure } from '../procedures.ts';

/** Adds RPCs to those that the router serves. */
export type Register = (router: ConnectRouter) => void;

export function registerProcedures(procedures: readonly Procedure[], logger: Logger): Register {
  return (router) => {
    for (const { method, gate, handler } of procedures) {
      router.rpc(method, (request, context) => handler(request, callOf(context)), optionsFor(gate, logger));
    }
  };
}

/** A service that everyone may call, streams and all. */
export function registerOpenService<Service extends DescService>(
  service: Service,
  implementation: ServiceImpl<Service>,
  logger: Logger,
): Register {
  return (router) => router.service(service, implementation, optionsFor(openGate, logger));
}

function optionsFor(gate: Gate, logger: Logger): Partial<UniversalHandlerOptions> {
  return {
    interceptors: [createErrorInterceptor(logger)],
    async requestGate(context) {
      const call = callOf(context);
      try {
        if (call.rejection) throw call.rejection;
        await gate(call, context.method);
        call.signal = context.signal;
        call.phase = 'decoding';
      } catch (error) {
        throw toConnectError(error, call, logger);
      }
    },
  };
}
