/** What a field may stand for by what operators type: names, or their beginning, and addresses. */
import type { Call } from '../../../domain/core/call.ts';
import { invalidField, ServiceError } from '../../../domain/core/errors.ts';
import { check, text, textOrEmpty, UUID } from '../../../domain/core/validation.ts';
import { findApplicationOfClient } from '../../../domain/login/find-login-application.ts';
import type { ConsoleRequest } from '../console-request.ts';
import { sendData } from '../responses.ts';
import type { Reply } from '../route.ts';
import { findNamed, type NamedThing, type Offered } from '../statements/named.ts';
import { readFilter } from './list.ts';

type Kind = NamedThing['kind'];

const KINDS: Readonly<Record<Offered, readonly Kind[]>> = {
  user: ['user'],
  application: ['application'],
  any: ['user', 'application', 'group'],
};

/** Returns what has exactly this name or address, or else what begins with it. */
export async function findFitting(call: Call, typed: string, of: Offered): Promise<readonly NamedThing[]> {
  const fitting = await find(call, typed, of);
  const exact = fitting.filter(isExactly(typed));
  if (exact.length > 0) return exact;
  // What tells an application apart from others stands after its name, where no index finds it.
  const [, name] = /^(.+) \([^()]+\)$/.exec(typed) ?? [];
  return fitting.length === 0 && name ? (await find(call, name, of)).filter(isExactly(typed)) : fitting;
}

async function find(call: Call, typed: string, of: Offered): Promise<readonly NamedThing[]> {
  return (await findNamed(call, typed)).filter(({ kind }) => KINDS[of].includes(kind));
}

function isExactly(typed: string): (thing: NamedThing) => boolean {
  const wanted = typed.toLowerCase();
  return ({ name, detail }) => [name, detail].some((each) => each.toLowerCase() === wanted);
}

/** Answers the script of fields. The value of each offer is what the field then has, which names one thing alone. */
export async function sendOffers({ call, context, query }: ConsoleRequest): Promise<Reply> {
  const typed = readFilter(query, 'q');
  const of = query.get('of') ?? '';
  check({ q: typed ?? '' }, { q: textOrEmpty(text({ max: 255 })) });
  const found = typed === undefined ? [] : await find(call, typed, isOffered(of) ? of : 'any');
  const offers = found.map((thing) => ({
    value: thing.kind === 'user' ? thing.detail : thing.name,
    name: thing.name,
    detail: thing.name.includes(describeThing(thing)) ? '' : describeThing(thing),
  }));
  sendData(context, offers);
  return 'sent';
}

function isOffered(of: string): of is Offered {
  return Object.hasOwn(KINDS, of);
}

/** Returns what a thing is, beside its name: the address of a person, and the host of an application. */
export function describeThing({ kind, detail }: NamedThing): string {
  if (kind !== 'application') return detail;
  return URL.canParse(detail) ? new URL(detail).host || detail : detail;
}

/** Returns the ID of the application that an operator has typed: its name, client ID or ID. @throws ServiceError */
export async function findApplicationId({ call }: ConsoleRequest, typed: string): Promise<string> {
  if (UUID.test(typed)) return typed;
  const { applicationId } = check({ applicationId: typed }, { applicationId: text({ max: 300 }) });
  const ofClient = await findApplicationOfClient(call, applicationId);
  if (ofClient) return ofClient.applicationId;
  const [only, ...others] = await findFitting(call, applicationId, 'application');
  if (others.length > 0)
    throw invalidField('applicationId', 'fits several applications: choose one, or type its client ID');
  if (!only) throw new ServiceError('APPLICATION_NOT_FOUND');
  return only.id;
}
