/** Converts messages to JSON Schemas, of the JSON of REST or of the JSON of Protobuf. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { StructSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { NULLABLE, restFieldsOf } from '../../api/rest/rest.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** JSON of `rest` omits only absent optional fields. JSON of `protobuf` also omits fields with default values. */
export type JsonStyle = 'rest' | 'protobuf';

/** Returns the comment of a message, field, method or service, or an empty string. */
export type ReadComment = (fullName: string) => string;

export class MessageSchemas {
  readonly all: Record<string, JsonSchema> = {};
  readonly #style: JsonStyle;
  readonly #commentOf: ReadComment;

  constructor(style: JsonStyle, commentOf: ReadComment) {
    this.#style = style;
    this.#commentOf = commentOf;
  }

  /** Adds the schema of the message, if it is new, and returns a reference to it. */
  refer(message: DescMessage): JsonSchema {
    const { name } = message;
    if (!(name in this.all)) {
      this.all[name] = {};
      this.all[name] = { ...this.describe(message), ...described(this.#commentOf(message.typeName)) };
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  describe(message: DescMessage): JsonSchema & { properties: Record<string, JsonSchema>; required?: string[] } {
    const shown = this.#style === 'rest' ? restFieldsOf(message) : message.fields;
    const fields = shown.map((field) => [field.jsonName, this.#describeField(field)] as const);
    const required = this.#style === 'rest' ? shown.filter(isRequired).map(({ jsonName }) => jsonName) : [];
    return {
      type: 'object',
      properties: Object.fromEntries(fields),
      ...(required.length > 0 && { required }),
    };
  }

  #describeField(field: DescField): JsonSchema {
    const comment = described(this.#commentOf(`${field.parent.typeName}.${field.name}`));
    const value = this.#describeValue(field);
    if (field.fieldKind === 'list') return { type: 'array', items: value, ...comment };
    const isNullable = this.#style === 'rest' && NULLABLE.includes(field.localName);
    return { ...value, ...(isNullable && { type: ['string', 'null'] }), ...comment };
  }

  #describeValue(field: DescField): JsonSchema {
    const { message, scalar } = field;
    if (message?.typeName === TimestampSchema.typeName) return { type: 'string', format: 'date-time' };
    if (message?.typeName === StructSchema.typeName) return { type: 'object', additionalProperties: true };
    if (message) return this.refer(message);
    if (scalar === ScalarType.STRING) return { type: 'string' };
    if (scalar === ScalarType.BOOL) return { type: 'boolean' };
    if (scalar === ScalarType.INT32 || scalar === ScalarType.UINT32) return { type: 'integer' };
    throw new Error(`describe the type of ${field} in src/reference/openapi/json-schema.ts`);
  }
}

function isRequired(field: DescField): boolean {
  return (!field.proto.proto3Optional && !field.oneof) || NULLABLE.includes(field.localName);
}

function described(description: string): JsonSchema {
  return description === '' ? {} : { description };
}
