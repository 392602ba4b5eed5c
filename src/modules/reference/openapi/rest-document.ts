/** The OpenAPI document of the REST API, from the routes, the schema and the rules of requests. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { EventService } from '../../../../gen/usher/v1/event_pb.ts';
import { SERVICES } from '../../../api/catalogue.ts';
import { type Procedures, pathOf, requireProcedure } from '../../../api/procedures.ts';
import { statusOfError } from '../../../api/rest/rest.ts';
import type { Route } from '../../../api/rest/route.ts';
import { routes } from '../../../api/rest/routes.ts';
import { HTTP_ERRORS } from '../../../http/errors.ts';
import { readErrors } from '../documented-errors.ts';
import { describeCheckInExports } from './check-in-exports.ts';
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
import { describeWebhooks } from './webhooks.ts';

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
        description: 'What is wrong, field by field. Only with `VALIDATION_FAILED`.',
        items: {
          type: 'object',
          properties: { field: { type: 'string' }, message: { type: 'string' } },
          required: ['field', 'message'],
        },
      },
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

/** Describes the `data` of the envelope, as `createPresenter` in `rest/present.ts` builds it. */
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
