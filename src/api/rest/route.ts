import type { DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { isFieldMask } from '../changes.ts';

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

interface Options<Rpc extends DescMethodUnary> extends Pick<Route, 'documented'> {
  /** The fields in the query of a request that has a body. */
  readonly query?: readonly FieldOf<Rpc['input']>[];
  readonly status?: 200 | 201;
  readonly resource?: FieldOf<Rpc['output']>;
  readonly existedBefore?: FieldOf<Rpc['output']>;
}

type FieldOf<Schema extends DescMethodUnary['input']> = Exclude<string & keyof MessageShape<Schema>, `$${string}`>;

/** Ties a row to the request and the response of its own RPC. REST needs no field mask: null clears a field. */
export function route<Rpc extends DescMethodUnary>(
  method: Route['method'],
  path: string,
  rpc: Rpc,
  message: string,
  { query = [], status = 200, ...options }: Options<Rpc> = {},
): Route {
  const others = method === 'GET' || method === 'DELETE' ? 'query' : 'body';
  const sourceOf = (name: string): Source => {
    if (path.split('/').includes(`:${name}`)) return 'path';
    return query.some((each) => each === name) ? 'query' : others;
  };
  const names = rpc.input.fields.filter((field) => !isFieldMask(field)).map(({ localName }) => localName);
  const fields = Object.fromEntries(names.map((name) => [name, sourceOf(name)]));
  return { method, path, rpc, message, status, fields, ...options };
}
