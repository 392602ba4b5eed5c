/** Writes the file of what is there. A plan of it is empty, and an empty database that applies it has the same. */
import { isDeepStrictEqual } from 'node:util';
import type { Run } from '../../../database/pool/database.ts';
import { applicationRules } from '../../../domain/applications/create-application.ts';
import { nameRequiredAssurance } from '../../../domain/core/assurance.ts';
import { check, MAX_IDENTIFIER } from '../../../domain/core/validation.ts';
import { MAX_KEYS } from '../parse-applications-file.ts';
import { type Logos, readAll, readAppliedFile, type StoredApplication, type StoredKey } from './read-state.ts';

/** @param now leaves out keys that have expired, unless a file names them */
export async function exportApplications(run: Run, now: Date): Promise<string> {
  const { applications, keys, access, groups, logos } = await readAll(run);
  const revision = (await readAppliedFile(run))?.revision ?? null;
  const file = {
    ...(revision !== null && { revision }),
    groups: [...groups.values()].map(({ name, displayName }) => ({
      name,
      ...(displayName !== null && { displayName }),
    })),
    applications: applications.map(({ application }) => ({
      ...presentApplication(application),
      ...presentLogos(logos.get(application.id) ?? []),
      ...presentList('keys', presentKeys(keys.get(application.id) ?? [], now)),
      ...presentList(
        'access',
        (access.get(application.id) ?? []).map(({ group, allowsAccess, inClaim }) => ({
          group,
          ...(allowsAccess && { allowsAccess }),
          ...(inClaim && { inClaim }),
        })),
      ),
    })),
  };
  return `${JSON.stringify(file, undefined, 2)}\n`;
}

const {
  name: _,
  redirectUris: __,
  ...DEFAULTS
} = check({ name: 'Any', redirectUris: ['https://example.com'] }, applicationRules);

/** Returns the fields whose values are no defaults. */
function presentApplication(application: StoredApplication['application']): Record<string, unknown> {
  const { id, clientId, name, redirectUris } = application;
  const others = Object.entries(DEFAULTS).flatMap(([field, byDefault]) => {
    const value: unknown = application[field as keyof typeof application];
    if (isDeepStrictEqual(value, byDefault)) return [];
    return [[field, field === 'requiredAssurance' ? nameRequiredAssurance(Number(value)) : value]];
  });
  const ids = clientId.startsWith('client_') ? { clientId, id } : { clientId };
  return { ...ids, name, redirectUris, ...Object.fromEntries(others) };
}

/** Logos are in the file itself, so that it can be written anywhere. */
function presentLogos(logos: Logos) {
  const textOf = (wanted: string) => {
    const found = logos.find(({ theme }) => theme === wanted);
    return found && `data:${found.mediaType};base64,${found.image.toString('base64')}`;
  };
  return { logo: textOf('light'), darkLogo: textOf('dark') };
}

/** Returns the keys by name. Keys without a name get one in the order of creation, and equal names a number. */
function presentKeys(stored: readonly StoredKey[], now: Date) {
  const isUsable = ({ declaredByFile, expiresAt }: StoredKey) => declaredByFile || !expiresAt || expiresAt > now;
  const usable = stored.filter(isUsable);
  const others = usable.filter(({ declaredByFile }) => !declaredByFile);
  // Those of the file come first: they keep their names. Then it has room for the latest.
  const declared = usable.filter(({ declaredByFile }) => declaredByFile);
  const kept = new Set([...declared, ...others.toReversed()].slice(0, MAX_KEYS));
  const own = new Set(stored.map(({ name }) => name));
  const taken = new Set<string>();
  const named = [...declared, ...others].map((key) => {
    const wanted = key.name ?? `key-${usable.indexOf(key) + 1}`;
    let name = cut(wanted);
    for (let number = 2; taken.has(name) || (key.name !== name && own.has(name)); number++)
      name = cut(wanted, `-${number}`);
    taken.add(name);
    return { key, name };
  });
  return (
    named
      .filter(({ key }) => kept.has(key))
      .map(({ key: { sha256, use, expiresAt }, name }) => ({
        name,
        sha256,
        ...(use !== 'API' && { use }),
        ...(expiresAt && { expiresAt: expiresAt.toISOString() }),
      }))
      // Equivalent: comparison: no two have the same name
      .sort((one, other) => (one.name < other.name ? -1 : 1))
  );
}

/** The name of a key that nobody has named is that of its application and a day, which is longer than a file allows. */
function cut(name: string, end = ''): string {
  return [...name].slice(0, MAX_IDENTIFIER - end.length).join('') + end;
}

function presentList(name: string, items: readonly object[]): Record<string, readonly object[]> {
  return items.length > 0 ? { [name]: items } : {};
}
