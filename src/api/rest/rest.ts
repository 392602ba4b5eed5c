/**
 * The REST edge: runs the RPC of a route through the pipeline, and answers with the documented JSON in the envelope.
 * Protobuf's own JSON drops `false`, empty strings and `.000`.
 */
import { create, type DescField, type DescMessage } from '@bufbuild/protobuf';
import { StructSchema, type Timestamp, TimestampSchema, timestampMs } from '@bufbuild/protobuf/wkt';
import { ServiceError } from '../../domain/core/errors.ts';
import { HttpError } from '../../http/errors.ts';
import { sendJson } from '../../http/exchange.ts';
import type { HttpRoute } from '../../http/route-table.ts';
import { type Envelope, sendError } from '../envelope.ts';
import type { Pipeline } from '../pipeline.ts';
import { type Procedures, requireProcedure } from '../procedures.ts';
import { readFields } from './read-fields.ts';
import type { Route } from './routes.ts';
import { routes } from './routes.ts';

export function createRestRoutes(procedures: Procedures, pipeline: Pipeline): HttpRoute[] {
  return routes.map((route) => {
    const { method, path, message } = route;
    const procedure = requireProcedure(procedures, route.rpc);
    const options = { protocol: 'rest', route } as const;
    const present = createPresenter(route);
    return {
      method,
      path,
      async run(context, parameters) {
        try {
          const response = await pipeline.runUnary(procedure, context, options, (deadline) =>
            readFields(route, parameters, context, deadline),
          );
          const envelope: Envelope = { status: true, message, data: present(response) };
          sendJson(context, statusOf(route, response), JSON.stringify(envelope));
        } catch (error) {
          if (!(error instanceof ServiceError || error instanceof HttpError)) throw error;
          sendError(context, error);
        }
      },
    };
  });
}

function statusOf({ status, existedBefore }: Route, response: Readonly<Record<string, unknown>>): number {
  return existedBefore !== undefined && response[existedBefore] === true ? 200 : status;
}

/** Fields that are null when absent, as documented. Other absent optional fields are left out. */
export const NULLABLE: readonly string[] = ['profileImage'];

/** Later fields that only RPCs have, so that the replies of REST do not change. */
const ONLY_IN_RPC: readonly string[] = [
  'usher.v1.Session.auth_time',
  'usher.v1.Session.method',
  'usher.v1.Session.expires_at',
  'usher.v1.Session.assurance',
  'usher.v1.UserProfile.id',
  'usher.v1.ActiveSession.auth_time',
  'usher.v1.ActiveSession.signed_in_at',
];

export function restFieldsOf(schema: DescMessage): DescField[] {
  return schema.fields.filter(({ parent, name }) => !ONLY_IN_RPC.includes(`${parent.typeName}.${name}`));
}

type Values = Readonly<Record<string, unknown>>;

interface PresentedField {
  readonly jsonName: string;
  readonly localName: string;
  readonly readFrom: (message: Values) => unknown;
  /** The JSON value of an absent field. Undefined leaves the field out. */
  readonly absent: unknown;
  present(value: unknown): unknown;
}

/** Returns a function that presents a response as `data`. The result is undefined if the response has no fields. */
function createPresenter({ rpc: { output }, resource, documented }: Route): (response: Values) => unknown {
  const own = presentedFieldsOf(output);
  const type = output.fields.find(({ localName }) => localName === resource)?.message;
  if (resource === undefined || !type)
    return own.length === 0 ? () => undefined : (response) => presentFields(own, response);
  const inside = presentedFieldsOf(type);
  const shown = documented?.flatMap((name) => inside.find(({ jsonName }) => jsonName === name) ?? []) ?? inside;
  const others = documented ? [] : own.filter(({ localName }) => localName !== resource);
  // The handler of each route returns the resource.
  return (response) => presentFields(others, response, presentFields(shown, response[resource] as Values));
}

function presentFields(fields: readonly PresentedField[], message: Values, presented: Record<string, unknown> = {}) {
  for (const { jsonName, readFrom, absent, present } of fields) {
    const value = readFrom(message);
    presented[jsonName] = value === undefined ? absent : present(value);
  }
  return presented;
}

function presentedFieldsOf(schema: DescMessage): readonly PresentedField[] {
  const zero: Values = { ...create(schema) };
  return restFieldsOf(schema).map(({ jsonName, localName, fieldKind, message, oneof }) => {
    const presentOne = message ? presentAs(message) : (value: unknown) => value;
    return {
      jsonName,
      localName,
      readFrom: readerOf(localName, oneof?.localName),
      absent: zero[localName] ?? (NULLABLE.includes(jsonName) ? null : undefined),
      // The schema says that the value has this type.
      present: fieldKind === 'list' ? (items: unknown) => (items as unknown[]).map(presentOne) : presentOne,
    };
  });
}

/** Returns a function that reads a field. Of a `oneof`, a message has the field that is set. */
function readerOf(localName: string, choice: string | undefined): (message: Values) => unknown {
  if (choice === undefined) return (message) => message[localName];
  return (message) => {
    const chosen = message[choice] as { readonly case?: string; readonly value?: unknown } | undefined;
    return chosen?.case === localName ? chosen.value : undefined;
  };
}

/** The schema says that the value has this type. */
function presentAs(type: DescMessage): (value: unknown) => unknown {
  if (type.typeName === TimestampSchema.typeName) return (time) => presentTime(time as Timestamp);
  // Its value is JSON.
  if (type.typeName === StructSchema.typeName) return (object) => object;
  const fields = presentedFieldsOf(type);
  return (message) => presentFields(fields, message as Values);
}

/** Returns ISO 8601 in UTC, always with three fractional digits. */
function presentTime(time: Timestamp): string {
  return new Date(timestampMs(time)).toISOString();
}
