/** An example of an operation, and those that operations share. */
import type { JsonObject } from '@bufbuild/protobuf';

export interface Example {
  readonly required?: JsonObject;
  readonly optional?: JsonObject;
}

export const PAGE: Example = { optional: { pageSize: 20 } };
export const USER: Example = { required: { userId: '$USER_ID' } };
export const INVITED = { name: 'Grace Hopper', locale: 'de', expiresInDays: 14 };
