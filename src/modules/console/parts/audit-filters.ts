/** Filters of the audit log by what operators type: names, addresses and IDs. */
import { check, text, UUID } from '../../../domain/core/validation.ts';
import { type Html, html } from '../../../http/html.ts';
import { isolate } from '../../../texts/isolate.ts';
import type { ConsoleRequest } from '../console-request.ts';
import type { NamedThing, Offered } from '../statements/named.ts';
import { readFilter, readInstant } from './list.ts';
import { describeThing, findFitting } from './named-things.ts';
import { readNames, renderNameOf } from './names.ts';

interface AuditFilters {
  /** Those of `listAuditEvents`. */
  readonly given: Readonly<Record<string, string | undefined>>;
  /** What a filter may stand for, by its parameter, if that is several things. */
  readonly choices: Readonly<Record<string, readonly NamedThing[]>>;
  /** Whose events are shown, in words. */
  readonly summary: Html | undefined;
}

/** Which things each parameter may name. */
export const NAMED_BY = { actor: 'user', resource: 'any', application: 'application' } as const satisfies Readonly<
  Record<string, Offered>
>;

export async function readAuditFilters({ call, query }: ConsoleRequest): Promise<AuditFilters> {
  const found = await Promise.all(
    Object.entries(NAMED_BY).map(
      async ([name, of]) => [name, await resolve(call, name, of, readFilter(query, name))] as const,
    ),
  );
  const { actor, resource, application } = Object.fromEntries(found);
  const choices = found.filter(([, { things }]) => things.length > 0).map(([name, { things }]) => [name, things]);
  const isPerson = actor?.kind === 'user';
  return {
    given: {
      ...(isPerson ? { person: actor.id } : { actor: actor?.id }),
      resource: resource?.id,
      applicationId: application?.id,
      action: readFilter(query, 'action'),
      since: readInstant(query, 'since'),
      until: readInstant(query, 'until'),
    },
    choices: Object.fromEntries(choices),
    summary: describe({ actor, resource }),
  };
}

interface Resolved {
  /** Undefined without a filter. */
  readonly id: string | undefined;
  readonly kind?: NamedThing['kind'];
  readonly name?: Html;
  readonly things: readonly NamedThing[];
}

/** Takes an ID as it is, and a name or an address if only one thing has it. Other text may be the name of a key, or an ID of others. */
async function resolve(
  call: ConsoleRequest['call'],
  parameter: string,
  of: Offered,
  typed: string | undefined,
): Promise<Resolved> {
  if (typed === undefined) return { id: undefined, things: [] };
  if (UUID.test(typed)) {
    const id = typed.toLowerCase();
    const names = await readNames(call, { user: [id], application: [id], group: [id] });
    const isUser = names.get(id)?.detail.includes('@') === true;
    return { id, things: [], ...(isUser && { kind: 'user' }), ...(names.has(id) && { name: renderNameOf(names, id) }) };
  }
  // As the list refuses it, before a statement has it.
  // Equivalent: limit: the list refuses a longer text, too
  check({ [parameter]: typed }, { [parameter]: text({ max: 255 }) });
  const things = await findFitting(call, typed, of);
  const [only, ...others] = things;
  if (!only || others.length > 0) return { id: typed, things };
  return { id: only.id, kind: only.kind, name: isolate(only.name), things: [] };
}

function describe({ actor, resource }: Readonly<Record<'actor' | 'resource', Resolved | undefined>>): Html | undefined {
  const by = actor?.id !== undefined && (actor.name ?? isolate(actor.id));
  const on = resource?.id !== undefined && (resource.name ?? isolate(resource.id));
  if (!by && !on) return undefined;
  const what = by && on ? html`By ${by}, on ${on}` : by ? html`By ${by}` : html`On ${on}`;
  if (actor?.id?.includes('@')) return html`Nobody has the address ${by}.`;
  const isWithoutSignIns = by && actor?.kind !== 'user';
  return isWithoutSignIns
    ? html`${what}: sessions begun, renewed or ended, and check-ins are left out.`
    : html`${what}: sign-ins included.`;
}

/** Renders what a filter may stand for, each with a link that chooses it. */
export function renderChoices(query: URLSearchParams, choices: AuditFilters['choices']): Html {
  return html`${Object.entries(choices).map(([parameter, things]) => {
    return html`<section class="panel" aria-labelledby="several-${parameter}">
<header><h2 id="several-${parameter}">Several fit ${isolate(query.get(parameter) ?? '')}</h2></header>
<ul class="plain">
${things.map((thing) => html`<li class="item"><div><a href="${linkTo(query, parameter, thing)}">${isolate(thing.name)}</a><p>${isolate(describeThing(thing))}</p></div></li>\n`)}</ul>
</section>`;
  })}`;
}

function linkTo(query: URLSearchParams, parameter: string, { id }: NamedThing): string {
  const chosen = new URLSearchParams([...query].filter(([name, value]) => name !== 'page' && value !== ''));
  chosen.set(parameter, id);
  return `/audit?${chosen}`;
}
