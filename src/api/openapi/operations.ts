/** What both documents say of an operation. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import type { Rule } from '../../domain/rule.ts';
import type { JsonSchema, ReadComment } from './json-schema.ts';
import type { RequestRules } from './request-rules.ts';

/** Returns the schema of a field. @param canBeNull whether the place where the field is can hold null */
export function describeField(rule: Rule<unknown>, description: string, { canBeNull = true } = {}): JsonSchema {
  const { type, enum: values } = rule.schema;
  return {
    ...rule.schema,
    ...(rule.isNullable && canBeNull && { type: [type, 'null'], ...(values && { enum: [...values, null] }) }),
    ...(description !== '' && { description }),
  };
}

/** Returns the schema of a JSON object with those fields. */
export function describeFields(
  method: DescMethodUnary,
  rules: RequestRules,
  names: readonly string[],
  commentOf: ReadComment,
): JsonSchema & { readonly properties: JsonSchema } {
  const required = names.filter((name) => !rules[name]?.isOptional);
  const properties = names.flatMap((name) => {
    const rule = rules[name];
    return rule ? [[name, describeField(rule, commentOfField(method, name, commentOf))]] : [];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
  };
}

export function commentOfField({ input }: DescMethodUnary, localName: string, commentOf: ReadComment): string {
  const field = input.fields.find((each) => each.localName === localName);
  return field ? commentOf(`${input.typeName}.${field.name}`) : '';
}

/** Returns the content of a request body or of a response. */
export function toContent(schema: JsonSchema): JsonSchema {
  return { 'application/json': { schema } };
}

/** Returns the response with the schema `Failure` of the document. */
export function fail(description: string): JsonSchema {
  return { description, content: toContent({ $ref: '#/components/schemas/Failure' }) };
}

/** Returns ID, tag, summary and description. */
export function describeMethod(method: DescMethodUnary, commentOf: ReadComment) {
  const description = commentOf(`${method.parent.typeName}.${method.name}`);
  const [summary = method.name] = description.split(/(?<=\.)\s/);
  return {
    operationId: `${method.parent.name}_${method.name}`,
    tags: [method.parent.name],
    summary: summary.replace(/\.$/, ''),
    description,
  };
}
