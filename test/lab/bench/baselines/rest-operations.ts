/** The operations over REST, with the documented envelope. */
import { toAnswer } from './baseline-call.ts';
import type { Caller, Operations } from './operations.ts';

export type Fields = Readonly<Record<string, unknown>>;

export interface RestOperation {
  /** The RPC, for the log. */
  readonly procedure: string;
  /** Of a success. */
  readonly message: string;
  run(caller: Caller, fields: Fields): Promise<unknown>;
}

export interface RestAnswer {
  readonly status: number;
  readonly envelope: { readonly status: boolean; readonly message: string; readonly data?: unknown };
}

export function createRestOperations(operations: Operations) {
  return {
    getWebhook: {
      procedure: 'usher.v1.WebhookService/GetWebhook',
      message: 'Webhook retrieved successfully',
      run: operations.getWebhook,
    },
    exchangeToken: {
      procedure: 'usher.v1.AuthService/ExchangeToken',
      message: 'Token exchanged successfully',
      run: operations.exchangeToken,
    },
    generateAuthUrl: {
      procedure: 'usher.v1.AuthService/GenerateAuthUrl',
      message: 'Auth URL generated successfully',
      run: operations.generateAuthUrl,
    },
    deleteEvent: {
      procedure: 'usher.v1.EventService/DeleteEvent',
      message: 'Event deleted successfully',
      run: operations.deleteEvent,
    },
    checkIn: {
      procedure: 'usher.v1.EventService/CheckIn',
      message: 'Attendee checked in successfully',
      run: async (caller, fields) => (await operations.checkIn(caller, fields)).checkIn,
    },
  } satisfies Record<string, RestOperation>;
}

export function succeed(message: string, data: unknown): RestAnswer {
  return { status: 200, envelope: { status: true, message, data } };
}

export function fail(error: unknown): RestAnswer {
  const { status, message } = toAnswer(error);
  return { status, envelope: { status: false, message } };
}
