import type { DescMethodUnary, JsonObject, JsonValue } from '@bufbuild/protobuf';

/** For example `/usher.v1.WebhookService/GetWebhook`. */
export function procedureOf(method: DescMethodUnary): string {
  return `/${method.parent.typeName}/${method.name}`;
}

export function requireObject(value: JsonValue): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('The reply is no object');
  return value;
}
