import type { DescMethodUnary, MessageShape } from '@bufbuild/protobuf';

/** Where a field of the RPC's request is found in the HTTP request, under the field's own name. */
type Source = 'path' | 'query' | 'body';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A segment that begins with a colon is a parameter, as in `/api/webhooks/:webhookId`. */
  readonly path: string;
  readonly rpc: DescMethodUnary;
  readonly fields: Readonly<Record<string, Source>>;
  /** The status of a success: 201 where the call creates something, else 200. */
  readonly status: number;
  /** The message of a success. */
  readonly message: string;
  /** The field of the response that is `data` itself, together with the other fields. Without it, `data` has all fields. */
  readonly resource?: string;
  /** The field of the response that is true when the call has created nothing, and the status is 200. */
  readonly existedBefore?: string;
  /** The fields of the resource that are documented, where `data` has not all of them. */
  readonly documented?: readonly string[];
}

/** The fields of every list. */
export const PAGE = { pageSize: 'query', pageToken: 'query' } as const;

/** Ties a row to the request and the response of its own RPC. */
export function route<Rpc extends DescMethodUnary>({
  status = 200,
  ...row
}: Omit<Route, 'rpc' | 'fields' | 'status' | 'resource' | 'existedBefore'> & {
  rpc: Rpc;
  fields: Readonly<Partial<Record<FieldOf<Rpc['input']>, Source>>>;
  status?: 200 | 201;
  resource?: FieldOf<Rpc['output']>;
  existedBefore?: FieldOf<Rpc['output']>;
}): Route {
  return { status, ...row } as Route;
}

type FieldOf<Schema extends DescMethodUnary['input']> = Exclude<keyof MessageShape<Schema>, symbol | `$${string}`>;
