/** The parts of an operation that both OpenAPI documents share. */
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { IDEMPOTENCY_HEADER, MAX_HEADER_LENGTH, takesIdempotencyKey } from '../../api/idempotency.ts';
import { ignoresUnknownFields } from '../../api/unknown-fields.ts';
import { ERRORS } from '../../domain/core/errors.ts';
import type { Rule } from '../../domain/core/rule.ts';
import { ANSWER_HOURS } from '../../domain/idempotency/answer-once.ts';
import type { JsonSchema, ReadComment } from './json-schema.ts';
import type { RequestRules } from './request-rules.ts';

/** @param canBeNull false for a field in the path or the query, which have no null */
export function describeField(rule: Rule<unknown>, description: string, { canBeNull = true } = {}): JsonSchema {
  const { type, enum: values } = rule.schema;
  return {
    ...rule.schema,
    ...(rule.isNullable && canBeNull && { type: [type, 'null'], ...(values && { enum: [...values, null] }) }),
    ...(description !== '' && { description }),
  };
}

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
  const anyOf = names.flatMap((name) => describeAlternatives(name, rules));
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    ...(anyOf.length > 0 && { anyOf }),
    ...(!ignoresUnknownFields(method) && { additionalProperties: false }),
  };
}

/** Returns the schemas of which a request needs one, if another field may replace this one. */
function describeAlternatives(name: string, rules: RequestRules): JsonSchema[] {
  const alternative = rules[name]?.alternative;
  if (alternative === undefined) return [];
  return [name, alternative].map((each) => {
    const { type } = rules[each]?.schema ?? {};
    // Null does not count.
    return { properties: { [each]: { type } }, required: [each] };
  });
}

/** Returns the parameter of the header, if the operation takes it. */
export function describeIdempotencyKey(method: DescMethodUnary): JsonSchema[] {
  if (!takesIdempotencyKey(method)) return [];
  const description = `Makes a repeated call safe: for ${ANSWER_HOURS} hours, a call with the same key and the same request gets the same answer.`;
  const schema = { type: 'string', minLength: 1, maxLength: MAX_HEADER_LENGTH };
  return [{ name: IDEMPOTENCY_HEADER, in: 'header', required: false, description, schema }];
}

export function idempotencyErrorsOf(method: DescMethodUnary) {
  const reasons = ['INVALID_IDEMPOTENCY_KEY', 'IDEMPOTENCY_KEY_IN_USE', 'IDEMPOTENCY_KEY_REUSED'] as const;
  return takesIdempotencyKey(method) ? reasons.map((reason) => ({ reason, code: ERRORS[reason][0] })) : [];
}

export function commentOfField({ input }: DescMethodUnary, localName: string, commentOf: ReadComment): string {
  const field = input.fields.find((each) => each.localName === localName);
  return field ? commentOf(`${input.typeName}.${field.name}`) : '';
}

export function toContent(schema: JsonSchema): JsonSchema {
  return { 'application/json': { schema } };
}

/** Returns a response with the schema `Failure`, which each document defines. */
export function describeFailureResponse(description: string): JsonSchema {
  return { description, content: toContent({ $ref: '#/components/schemas/Failure' }) };
}

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
