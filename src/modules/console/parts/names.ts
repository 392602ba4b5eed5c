/** The names of what IDs stand for. */
import { p, statement, t } from '../../../database/sql/template.ts';
import { labelOf } from '../../../domain/core/application-label.ts';
import type { Call } from '../../../domain/core/call.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { Named } from './action-texts.ts';

/** Shortens an ID that names nothing: it is that of a passkey, or what it named is erased. */
export function renderNameOf(names: Names, id: string): Html {
  const name = names.get(id)?.name;
  if (name) return isolate(name);
  return html`<code title="${id}">${isolate(id.length > 16 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id)}</code>`;
}

export interface Name {
  readonly name: string;
  /** The e-mail address of a user, and the ID of the application that a key or a webhook belongs to. */
  readonly detail: string;
}

/** IDs without a name are not in the map. */
export type Names = ReadonlyMap<string, Name>;

/** Returns the names of the IDs: those of people, applications, keys and groups, and the URLs of webhooks. One statement reads all. */
export async function readNames(
  { run }: Pick<Call, 'run'>,
  ids: Partial<Record<Named, Iterable<string>>>,
): Promise<Names> {
  const [users, applications, keys, webhooks, groups] = (
    ['user', 'application', 'key', 'webhook', 'group'] as const
  ).map((kind) => [...new Set(ids[kind])]);
  const rows = await run(selectNames, { users, applications, keys, webhooks, groups });
  return new Map(rows.map(({ id, ...name }) => [id, name]));
}

/** The key of a webhook begins with its application, and events of webhooks have that application. */
const selectNames = statement('select_names', { id: t.text, name: t.text, detail: t.text })`
  select id::text as id, coalesce(name, email) as name, email as detail from users where id = any(${p.uuids('users')})
  union all
  select id::text, ${labelOf('applications')}, '' from applications where id = any(${p.uuids('applications')})
  union all
  select id::text, coalesce(name, ''), application_id::text from api_keys where id = any(${p.uuids('keys')})
  union all
  select id::text, coalesce(display_name, name), '' from groups where id = any(${p.uuids('groups')})
  union all
  select id, url, application_id::text from webhooks
    where application_id = any(${p.uuids('applications')}) and id = any(${p.texts('webhooks')})`;
