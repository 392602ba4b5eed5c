/** Reads operations from the OpenAPI documents. Returns their fields as flat lists, as the reference shows them. */
import { readFileSync } from 'node:fs';
import type { DescService } from '@bufbuild/protobuf';
import type { Operation } from '../../api/catalogue.ts';
import { pathOf } from '../../api/procedures.ts';
import type { Rule } from '../../domain/core/rule.ts';

type RuleSchema = Rule<unknown>['schema'];

export interface SchemaObject extends Omit<RuleSchema, 'type' | 'enum' | 'items' | 'properties'> {
  readonly $ref?: string;
  /** The name of the message, if the schema was a reference. */
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly description?: string;
  readonly enum?: readonly (string | null)[];
  readonly items?: SchemaObject;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly SchemaObject[];
  readonly allOf?: readonly SchemaObject[];
}

type Content = { readonly content: { readonly 'application/json': { readonly schema: SchemaObject } } };

interface OperationObject {
  readonly description: string;
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

interface Document {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, SchemaObject>> };
}

export interface Field {
  /** A nested field has its full path, such as `session.user.email` or `webhooks[].url`. */
  readonly name: string;
  readonly schema: SchemaObject;
  readonly isRequired: boolean;
  /** The other fields of which a request needs one if it does not have this one. */
  readonly alternatives: readonly string[];
}

export interface OperationDescription {
  readonly description: string;
  readonly request: readonly Field[];
  /** The fields of the RPC, even if the operation has a REST route. */
  readonly response: readonly Field[];
  /** The schema of the REST reply if the operation has a route, else of the response of the RPC. */
  readonly reply: SchemaObject;
}

export class OpenApi {
  readonly #rest = readDocument('rest');
  readonly #connect = readDocument('connect');

  describeService(service: DescService): string {
    return this.#connect.tags.find(({ name }) => name === service.name)?.description ?? '';
  }

  describe({ method, route }: Operation): OperationDescription {
    const rpc = this.#connect.paths[pathOf(method)]?.post;
    const path = route?.path.replace(/:(\w+)/g, '{$1}') ?? '';
    const rest = this.#rest.paths[path]?.[route?.method.toLowerCase() ?? ''];
    if (!rpc || (route && !rest)) throw new Error(`No document describes ${method.name}`);
    const { properties = {}, required = [], anyOf = [] } = rpc.requestBody?.content['application/json'].schema ?? {};
    const response = resolve(this.#connect, schemaOf(rpc, 200));
    return {
      description: rpc.description,
      request: Object.entries(properties).map(([name, schema]) => ({
        name,
        schema,
        isRequired: required.includes(name),
        alternatives: alternativesOf(name, anyOf),
      })),
      response: flatten(response),
      reply: rest ? resolve(this.#rest, schemaOf(rest, route?.status ?? 200)) : response,
    };
  }
}

function alternativesOf(name: string, anyOf: readonly SchemaObject[]): string[] {
  const names = anyOf.flatMap(({ required = [] }) => required);
  return names.includes(name) ? names.filter((each) => each !== name) : [];
}

function flatten({ properties = {} }: SchemaObject, prefix = ''): Field[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = `${prefix}${key}`;
    const inner = schema.items ? flatten(schema.items, `${name}[].`) : flatten(schema, `${name}.`);
    return [{ name, schema, isRequired: false, alternatives: [] }, ...inner];
  });
}

function schemaOf({ responses }: OperationObject, status: number): SchemaObject {
  return responses[status]?.content['application/json'].schema ?? {};
}

/** Replaces references with the schemas that they name. */
function resolve(document: Document, { $ref, ...schema }: SchemaObject): SchemaObject {
  const title = $ref?.split('/').at(-1);
  const { allOf = [], ...target } = { ...(title && { ...document.components.schemas[title], title }), ...schema };
  const parts = [target, ...allOf.map((part) => resolve(document, part))];
  const properties = Object.entries<SchemaObject>(Object.assign({}, ...parts.map((part) => part.properties)));
  return {
    ...target,
    ...(properties.length > 0 && {
      properties: Object.fromEntries(properties.map(([key, each]) => [key, resolve(document, each)])),
    }),
    ...(target.items && { items: resolve(document, target.items) }),
  };
}

function readDocument(name: string): Document {
  return JSON.parse(readFileSync(new URL(`../../../gen/openapi/${name}.json`, import.meta.url), 'utf8'));
}
