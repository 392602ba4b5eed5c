/** The example of every operation, of `proto/examples.json`. Tests send them. */
import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import examples from '../../../gen/examples.json' with { type: 'json' };

/** Shell variables for the reader's own values, each with the source of its value. */
export const VARIABLES: Readonly<Record<string, string>> = examples.variables;

/** Returns the fields of the example of an operation. */
export function exampleOf({ name, parent }: DescMethodUnary): JsonObject {
  const operations: Readonly<Record<string, { required?: JsonObject; optional?: JsonObject }>> = examples.operations;
  const { required, optional } = operations[`${parent.name}/${name}`] ?? {};
  return { ...required, ...optional };
}
