import type { DescMethodUnary, MessageShape } from '@bufbuild/protobuf';
import { ignoresUnknownFields } from '../documented-calls.ts';
import { isFieldMask } from '../field-mask.ts';

/** The part of the HTTP request that holds a field, under the name of the field. */
type Source = 'path' | 'query' | 'body';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A segment that begins with a colon is a parameter, as in `/api/webhooks/:webhookId`. */
  readonly path: string;
  readonly rpc: DescMethodUnary;
  readonly fields: Readonly<Record<string, Source>>;
  /** The status of a success: 201 if the call creates something, else 200. */
  readonly status: number;
  readonly message: string;
  /** The field of the response that becomes `data`. Other fields of the response are added to `data`. */
  readonly resource?: string;
  /** The field of the response that is true if the call has created nothing. Then the status is 200. */
  readonly existedBefore?: string;
  /** Whether it ignores fields and query parameters that it does not know. */
  readonly isLenient: boolean;
  /** If set, `data` has only these fields. */
  readonly documented?: readonly string[];
}

interface Options<Rpc extends DescMethodUnary> extends Pick<Route, 'documented'> {
  /** Fields that are in the query although the request has a body. */
  readonly query?: readonly FieldOf<Rpc['input']>[];
  readonly status?: 200 | 201;
  readonly resource?: FieldOf<Rpc['output']>;
  readonly existedBefore?: FieldOf<Rpc['output']>;
}

type FieldOf<Schema extends DescMethodUnary['input']> = Exclude<string & keyof MessageShape<Schema>, `$${string}`>;

/** Returns a row with names of fields that its RPC has. REST needs no field mask, because null clears a field. */
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
  return { method, path, rpc, message, status, fields, isLenient: ignoresUnknownFields(rpc), ...options };
}
