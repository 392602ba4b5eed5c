/** The OpenAPI document of the RPCs over Connect with JSON, from the schema and the rules of requests. */
import { OPERATIONS, SERVICES } from '../../api/catalogue.ts';
import { isFieldMask } from '../../api/field-mask.ts';
import { type Procedures, pathOf } from '../../api/procedures.ts';
import { ERRORS } from '../../domain/core/errors.ts';
import { type JsonSchema, MessageSchemas, type ReadComment } from './json-schema.ts';
import {
  commentOfField,
  describeFailureResponse,
  describeFields,
  describeIdempotencyKey,
  describeMethod,
  toContent,
} from './operations.ts';
import { readRequestRules } from './request-rules.ts';

const FAILURE: JsonSchema = {
  type: 'object',
  properties: {
    code: { type: 'string', enum: [...new Set(Object.values(ERRORS).map(([code]) => code))] },
    message: { type: 'string', description: 'For people. It may become clearer.' },
    details: {
      type: 'array',
      description: '`google.rpc.ErrorInfo` has the reason, `google.rpc.BadRequest` what is wrong with which field.',
      items: {
        type: 'object',
        properties: { type: { type: 'string' }, value: { type: 'string' }, debug: { type: 'object' } },
        required: ['type', 'value'],
      },
    },
  },
  required: ['code', 'message', 'details'],
};

export async function describeConnect(procedures: Procedures, commentOf: ReadComment, info: JsonSchema) {
  const schemas = new MessageSchemas('protobuf', commentOf);
  const paths: Record<string, JsonSchema> = {};
  for (const { method, credential } of OPERATIONS) {
    const procedure = procedures.get(pathOf(method));
    if (!procedure) continue;
    const rules = await readRequestRules(procedure);
    const names = method.input.fields.map(({ localName }) => localName).filter((name) => name in rules);
    const fields = describeFields(method, rules, names, commentOf);
    const masks = method.input.fields.filter(isFieldMask).map(({ localName }) => {
      const description = commentOfField(method, localName, commentOf);
      return [localName, { type: 'string', format: 'field-mask', description }];
    });
    const header = describeIdempotencyKey(method);
    const properties = { ...fields.properties, ...Object.fromEntries(masks) };
    paths[pathOf(method)] = {
      post: {
        ...describeMethod(method, commentOf),
        security: [{ [credential]: [] }],
        ...(header.length > 0 && { parameters: header }),
        requestBody: { required: true, content: toContent({ ...fields, properties }) },
        responses: {
          200: { description: 'Success', content: toContent(schemas.refer(method.output)) },
          default: describeFailureResponse('Failure'),
        },
      },
    };
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Usher RPCs over Connect with JSON', ...info },
    servers: [{ url: '/' }],
    tags: SERVICES.map(({ service }) => ({ name: service.name, description: commentOf(service.typeName) })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        adminKey: { type: 'apiKey', in: 'header', name: 'X-Admin-Key' },
      },
      schemas: { ...schemas.all, Failure: FAILURE },
    },
  };
}
