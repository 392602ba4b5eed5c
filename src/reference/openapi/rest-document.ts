/** The OpenAPI document of the REST API, from the routes, the schema and the rules of requests. */
import type { DescMethodUnary, JsonObject, JsonValue } from '@bufbuild/protobuf';
import { EventService } from '../../../gen/usher/v1/event_pb.ts';
import { SERVICES } from '../../api/catalogue.ts';
import { statusOfError } from '../../api/envelope.ts';
import { CHECK_IN_EXPORTS } from '../../api/operations/export-check-ins.ts';
import { type Procedures, pathOf, requireProcedure } from '../../api/procedures.ts';
import type { Route } from '../../api/rest/routes.ts';
import { routes } from '../../api/rest/routes.ts';
import { HTTP_ERRORS } from '../../http/errors.ts';
import { WEBHOOK_DATA } from '../docs/webhook-guide.ts';
import { readErrors } from '../documented-errors.ts';
import { type JsonSchema, MessageSchemas, type ReadComment } from './json-schema.ts';
import {
  commentOfField,
  describeFailureResponse,
  describeField,
  describeFields,
  describeIdempotencyKey,
  describeMethod,
  idempotencyErrorsOf,
  toContent,
} from './operations.ts';
import { type RequestRules, readRequestRules } from './request-rules.ts';

export async function describeRest(procedures: Procedures, commentOf: ReadComment, info: JsonSchema) {
  const schemas = new MessageSchemas('rest', commentOf);
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    const procedure = procedures.get(pathOf(route.rpc));
    if (!procedure) continue;
    const path = route.path.replace(/:(\w+)/g, '{$1}');
    const rules = await readRequestRules(procedure);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(route, rules, schemas, commentOf) };
  }
  const { eventId } = await readRequestRules(requireProcedure(procedures, EventService.method.listCheckIns));
  if (!eventId) throw new Error('ListCheckIns does not check eventId');
  const schema = describeField(eventId, '', { canBeNull: false });
  Object.assign(paths, describeCheckInExports({ name: 'eventId', in: 'path', required: true, schema }));
  const used = new Set(routes.map(({ rpc }) => rpc.parent.typeName));
  return {
    openapi: '3.1.0',
    info: { title: 'Usher REST API', ...info },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    tags: SERVICES.filter(({ service }) => used.has(service.typeName)).map(({ service }) => ({
      name: service.name,
      description: commentOf(service.typeName),
    })),
    paths,
    webhooks: describeWebhooks(),
    components: {
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' } },
      schemas: { ...schemas.all, Failure: describeFailure(commentOf) },
    },
  };
}

/** Lists what a route can answer: what the comments name, and the errors that every call can have. */
function describeFailure(commentOf: ReadComment): JsonSchema {
  const named = routes.flatMap(({ rpc }) => errorsOf(rpc, commentOf)).map(({ reason }) => reason);
  return {
    type: 'object',
    properties: {
      status: { type: 'boolean', const: false },
      message: { type: 'string', description: 'For people. It may become clearer.' },
      reason: {
        type: 'string',
        enum: [...new Set([...named, 'SERVICE_UNAVAILABLE', ...Object.keys(HTTP_ERRORS)])],
        description: 'For programs. It never changes.',
      },
      errors: {
        type: 'array',
        description: 'What is wrong, field by field. Only with `VALIDATION_FAILED` and `UNSUPPORTED_MEDIA_TYPE`.',
        items: {
          type: 'object',
          properties: { field: { type: 'string' }, message: { type: 'string' } },
          required: ['field', 'message'],
        },
      },
      help: { type: 'string', format: 'uri', description: 'A page that says what to do.' },
    },
    required: ['status', 'message', 'reason'],
  };
}

function errorsOf(rpc: DescMethodUnary, commentOf: ReadComment) {
  const comments = [rpc.parent.typeName, `${rpc.parent.typeName}.${rpc.name}`].map(commentOf);
  return [...comments.flatMap(readErrors), ...idempotencyErrorsOf(rpc)];
}

function describeRoute(route: Route, rules: RequestRules, schemas: MessageSchemas, commentOf: ReadComment): JsonSchema {
  const { rpc, fields } = route;
  const namesIn = (place: string) => Object.keys(fields).filter((name) => fields[name] === place);
  const parameters = [...namesIn('path'), ...namesIn('query')].map((name) => {
    const rule = rules[name];
    if (!rule) throw new Error(`${rpc.name} does not check ${name}`);
    const description = commentOfField(rpc, name, commentOf);
    return {
      name,
      in: fields[name],
      required: fields[name] === 'path' || !rule.isOptional,
      ...(description !== '' && { description }),
      schema: describeField(rule, '', { canBeNull: false }),
    };
  });
  const all = [...parameters, ...describeIdempotencyKey(rpc)];
  const body = namesIn('body');
  return {
    ...describeMethod(rpc, commentOf),
    ...(all.length > 0 && { parameters: all }),
    ...(body.length > 0 && {
      requestBody: {
        required: body.some((name) => !rules[name]?.isOptional),
        content: toContent(describeFields(rpc, rules, body, commentOf)),
      },
    }),
    responses: describeResponses(route, schemas, commentOf),
  };
}

function describeResponses(route: Route, schemas: MessageSchemas, commentOf: ReadComment): JsonSchema {
  const { message, rpc, existedBefore } = route;
  const data = describeData(route, schemas);
  const status = { type: 'boolean', const: true };
  const properties = { status, message: { type: 'string' }, ...(data && { data }) };
  const content = toContent({ type: 'object', properties, required: Object.keys(properties) });
  const success = { description: message, content };
  const reasons = new Map<number, Set<string>>([400, 401, 500, 503].map((each) => [each, new Set()]));
  for (const { code, reason } of errorsOf(rpc, commentOf)) {
    const each = statusOfError(code, reason);
    reasons.set(each, (reasons.get(each) ?? new Set()).add(reason));
  }
  return {
    ...(existedBefore !== undefined && { 200: success }),
    [route.status]: success,
    ...Object.fromEntries(
      [...reasons].map(([each, named]) => [each, describeFailureResponse([...named].join(', ') || 'Failure')]),
    ),
    default: describeFailureResponse('Failure'),
  };
}

/** Describes the `data` of the envelope, as `createPresenter` in `rest/rest.ts` builds it. */
function describeData(
  { rpc: { output }, resource, documented }: Route,
  schemas: MessageSchemas,
): JsonSchema | undefined {
  if (output.fields.length === 0) return undefined;
  const field = output.fields.find(({ localName }) => localName === resource);
  if (!field?.message) return schemas.describe(output);
  if (documented) return pickFields(schemas.describe(field.message), documented);
  const others = output.fields.flatMap(({ jsonName }) => (jsonName === field.jsonName ? [] : [jsonName]));
  if (others.length === 0) return schemas.refer(field.message);
  return { allOf: [schemas.refer(field.message), pickFields(schemas.describe(output), others)] };
}

function pickFields({ properties, required = [] }: ReturnType<MessageSchemas['describe']>, names: readonly string[]) {
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, properties[name]])),
    required: required.filter((name) => names.includes(name)),
  };
}

const REASONS = {
  400: 'VALIDATION_FAILED',
  401: 'INVALID_API_KEY',
  404: 'EVENT_NOT_FOUND',
  500: 'Failure',
  503: 'SERVICE_UNAVAILABLE, also while too many downloads run',
};

const FORMATS = {
  csv: ['CSV', 'CSV in UTF-8 with a byte order mark. An apostrophe precedes a text that begins a formula.'],
  jsonl: ['JSON lines', 'An object per line.'],
} as const;

/** Describes the downloads, which are no RPCs. `eventId` is the parameter of the path. */
function describeCheckInExports(eventId: JsonSchema): Record<string, JsonSchema> {
  const failures = Object.entries(REASONS).map(([status, reasons]) => [status, describeFailureResponse(reasons)]);
  const describeExport = (format: keyof typeof FORMATS) => {
    const [name, description] = FORMATS[format];
    return {
      operationId: `EventService_ExportCheckIns_${format}`,
      tags: ['EventService'],
      summary: `Downloads all check-ins of an event as ${name}`,
      description: `Newest first, with \`attendeeId\` and \`checkedInAt\`. ${description}`,
      parameters: [eventId],
      responses: {
        200: { description, content: { [CHECK_IN_EXPORTS[format].type]: { schema: { type: 'string' } } } },
        ...Object.fromEntries(failures),
        default: describeFailureResponse('Failure'),
      },
    };
  };
  return Object.fromEntries(
    (['csv', 'jsonl'] as const).map((format) => [
      `/api/events/{eventId}/check-ins.${format}`,
      { get: describeExport(format) },
    ]),
  );
}

/** Describes the messages of webhooks in the OpenAPI document, from the examples of the webhook guide. */
const HEADERS = {
  'webhook-id': 'The ID of the message, the same in every attempt.',
  'webhook-timestamp': 'When the attempt was made, in seconds.',
  'webhook-signature':
    'Of https://www.standardwebhooks.com: `v1,` and the HMAC-SHA256 of `id.timestamp.body`, for each valid key.',
};
/** Absent if the user, event, check-in or session has no value. */
const OPTIONAL = [
  ...['name', 'profileImage', 'firstSignedInAt', 'onBehalfBy'],
  ...['startsAt', 'endsAt', 'capacity', 'admission', 'occurredAt', 'gate'],
];
/** Few messages have them, so that the examples do not. */
const SELDOM: Readonly<Record<string, JsonObject>> = { 'session.created': { onBehalfBy: 'support@example.com' } };

function describeWebhooks(): JsonSchema {
  return Object.fromEntries(Object.entries(WEBHOOK_DATA).map(([type, data]) => [type, { post: describe(type, data) }]));
}

function describe(type: string, data: JsonObject): JsonSchema {
  const envelope = {
    type: 'object',
    properties: {
      type: { type: 'string', const: type },
      timestamp: { type: 'string', format: 'date-time', description: 'When the change happened.' },
      data: schemaOf({ ...data, ...SELDOM[type] }),
    },
    required: ['type', 'timestamp', 'data'],
  };
  return {
    operationId: `webhook_${type}`,
    summary: `A message of the type ${type}`,
    // The signature is the credential.
    security: [],
    parameters: Object.entries(HEADERS).map(([name, description]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    requestBody: { required: true, content: { 'application/json': { schema: envelope } } },
    responses: {
      '2XX': { description: 'The message is delivered.' },
      '3XX': { description: 'Another attempt follows. Usher does not follow redirects.' },
      '410': { description: 'The webhook becomes inactive.' },
      '4XX': { description: 'Another attempt follows, after `Retry-After` of a 429.' },
      '5XX': { description: 'Another attempt follows, after `Retry-After` of a 503.' },
    },
  };
}

function schemaOf(value: JsonValue): JsonSchema {
  if (typeof value === 'boolean') return { type: 'boolean' };
  if (typeof value === 'number') return { type: 'integer' };
  if (typeof value === 'string')
    return /^\d{4}-\d\d-\d\dT/.test(value) ? { type: 'string', format: 'date-time' } : { type: 'string' };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`Describe ${value}`);
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(value).map(([name, each]) => [name, schemaOf(each)])),
    required: Object.keys(value).filter((name) => !OPTIONAL.includes(name)),
  };
}
