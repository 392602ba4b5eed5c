/** Compares a file with the database, and returns the steps from one to the other: `plan` prints them, `apply` takes them. */
import { hash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { storeApiKey } from '../../../domain/api-keys/create-api-key.ts';
import { revokeApiKey } from '../../../domain/api-keys/revoke-api-key.ts';
import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { applicationRules, storeApplication } from '../../../domain/applications/create-application.ts';
import { deleteApplication } from '../../../domain/applications/delete-application.ts';
import { setApplicationLogo } from '../../../domain/applications/set-application-logo.ts';
import { changeApplication } from '../../../domain/applications/update-application.ts';
import type { Call } from '../../../domain/core/call.ts';
import { getGroupByName } from '../../../domain/groups/get-group.ts';
import { setGroupAccess } from '../../../domain/groups/set-group-access.ts';
import {
  type ApplicationFields,
  type ApplicationsFile,
  ApplicationsFileError,
  type DeclaredApplication,
  type DeclaredKey,
  toResourceKeys,
} from '../parse-applications-file.ts';
import type { Losers } from './count-losers.ts';
import { describeChange, describeCounts } from './describe-change.ts';
import { findGroupSteps } from './find-group-steps.ts';
import { markApplication, releaseKeys, updateKey } from './mark-declared.ts';
import type { State, StoredApplication, StoredKey } from './read-state.ts';
import type { Step, StepNames } from './step.ts';

/** @throws ApplicationsFileError if the database does not allow the file */
export function findSteps(file: ApplicationsFile, state: State): Step[] {
  const { first, last } = findGroupSteps(file, state);
  const rows = new Map(state.applications.map((row) => [row.application.clientId, row]));
  const named = new Set(file.applications.map(({ clientId }) => clientId));
  const [ending, staying] = [[] as Step[], [] as Step[]];
  for (const entry of file.applications) {
    const row = rows.get(entry.clientId);
    if (entry.fate === 'declared') staying.push(...findApplicationSteps(entry, row, { file, state }));
    else if (row && !row.isDeleted) ending.push(...endEntry(entry, row.application));
  }
  const gone = state.applications.flatMap(({ application, isDeleted }) => {
    const { clientId, declaredByFile } = application;
    if (isDeleted || !declaredByFile || named.has(clientId)) return [];
    return [markStep({ subject: clientId, label: clientId }, application.id, false, 'no longer in the file')];
  });
  return [...first, ...ending, ...freeResources(file, state, rows), ...staying, ...gone, ...last];
}

function markStep(names: StepNames, applicationId: string, declared: boolean | null, text?: string): Step {
  const run = (call: Call) => call.run(markApplication, { applicationId, declared });
  return { ...names, text, action: 'AdminService/UpdateApplication', run };
}

function endEntry(entry: DeclaredApplication, { id, declaredByFile }: ApplicationDetails): Step[] {
  const names = { subject: entry.clientId, label: entry.label };
  if (entry.fate === 'deleted') {
    const run = (call: Call) => deleteApplication(call, { applicationId: id });
    return [{ ...names, text: 'deleted', action: 'AdminService/DeleteApplication', run }];
  }
  if (declaredByFile === null) return [];
  const released = markStep(names, id, null, 'released');
  const run = async (call: Call) => {
    await released.run(call);
    await call.run(releaseKeys, { applicationId: id });
  };
  return [{ ...released, run }];
}

/** Takes a resource from its application first, if another entry gets it. @throws ApplicationsFileError if the file does not name its application */
function freeResources(file: ApplicationsFile, state: State, rows: ReadonlyMap<string, StoredApplication>): Step[] {
  const entries = new Map(file.applications.map((entry) => [rows.get(entry.clientId)?.application.id, entry]));
  return file.applications.flatMap((entry) => {
    const [ownerId] = toResourceKeys(entry.fields.resourceUri).flatMap((uri) => state.resourceOwners.get(uri) ?? []);
    if (ownerId === undefined || ownerId === rows.get(entry.clientId)?.application.id) return [];
    const owner = entries.get(ownerId);
    if (!owner || owner.fate === 'released')
      throw new ApplicationsFileError(`${entry.label}: resourceUri is that of another application`);
    if (owner.fate === 'deleted') return [];
    const run = (call: Call) => changeApplication(call, ownerId, { resourceUri: null });
    return [{ subject: owner.clientId, label: owner.label, action: 'AdminService/UpdateApplication', run }];
  });
}

interface Context {
  readonly file: ApplicationsFile;
  readonly state: State;
}

function findApplicationSteps(
  entry: DeclaredApplication,
  row: StoredApplication | undefined,
  context: Context,
): Step[] {
  const { clientId, label } = entry;
  const names = { subject: clientId, label };
  const { state } = context;
  if (row?.isDeleted) throw new ApplicationsFileError(`${label}: clientId is of a deleted application`);
  const id = row?.application.id ?? entry.id;
  if (id === undefined) throw new ApplicationsFileError(`${label}: clientId is of no application, and there is no id`);
  const isOther = ({ application }: StoredApplication) => application.id === id && application.clientId !== clientId;
  if ((entry.id !== undefined && entry.id !== id) || state.applications.some(isOther))
    throw new ApplicationsFileError(`${label}: id is that of another application`);
  const steps = row
    ? updateSteps(entry, row.application, context)
    : [
        {
          ...names,
          text: 'new',
          action: 'AdminService/CreateApplication',
          run: (call: Call) => storeApplication(call, { id, clientId, ...entry.fields }),
        },
      ];
  steps.push(
    ...logoSteps(entry, id, row?.application),
    ...keySteps(entry, id, state),
    ...accessSteps(entry, id, context),
  );
  if (row && row.application.declaredByFile !== true) steps.push(markStep(names, id, true));
  return steps;
}

const FIELDS = Object.keys(applicationRules) as (keyof ApplicationFields)[];

function updateSteps(entry: DeclaredApplication, stored: ApplicationDetails, { state }: Context): Step[] {
  const { clientId, label, fields } = entry;
  const changed = FIELDS.filter((field) => !isDeepStrictEqual(stored[field], fields[field]));
  const losers = findLosers(entry, stored, state);
  if (changed.length === 0 && !losers) return [];
  const texts = changed.map((field) => describeChange(field, stored[field], fields[field]));
  const changes = Object.fromEntries(changed.map((field) => [field, fields[field]]));
  // Equivalent: condition, comparison: the statement would change nothing
  const run = async (call: Call) => changed.length > 0 && changeApplication(call, stored.id, changes);
  const text = texts.length > 0 ? texts.join(', ') : undefined;
  return [{ subject: clientId, label, text, losers, action: 'AdminService/UpdateApplication', run }];
}

/** Returns whose access the entry takes: those whom neither an operator nor one of its groups lets in. */
function findLosers(entry: DeclaredApplication, stored: ApplicationDetails, state: State): Losers | undefined {
  if (!entry.fields.restrictAccess) return undefined;
  const allowed = new Set(entry.access.flatMap(({ allowsAccess, group }) => (allowsAccess ? [group] : [])));
  const before = (state.access.get(stored.id) ?? []).filter(({ allowsAccess }) => allowsAccess);
  const isNarrowed = before.some(({ group }) => !allowed.has(group));
  if (stored.restrictAccess && !isNarrowed) return undefined;
  const groupIds = [...allowed].flatMap((group) => state.groups.get(group)?.groupId ?? []);
  return { applicationId: stored.id, wasRestricted: stored.restrictAccess, groupIds };
}

function logoSteps({ clientId, label, logos }: DeclaredApplication, id: string, stored?: ApplicationDetails): Step[] {
  const before = { light: stored?.logoDigest, dark: stored?.darkLogoDigest };
  return (['light', 'dark'] as const).flatMap((theme) => {
    const [image, digest] = [logos[theme], before[theme]];
    if (!image && !digest) return [];
    if (image && digest && hash('sha256', image, 'buffer').equals(digest)) return [];
    const run = (call: Call) => setApplicationLogo(call, { applicationId: id, theme, image });
    const text = `${theme === 'light' ? 'logo' : 'darkLogo'} ${!image ? 'removed' : digest ? 'replaced' : 'added'}`;
    return [{ subject: clientId, label, text, action: 'AdminService/SetApplicationLogo', run }];
  });
}

/** Only keys that a file has declared are revoked. The others stay: in an emergency an operator needs a key at night. */
function keySteps(entry: DeclaredApplication, applicationId: string, { keys, keyOwners }: State): Step[] {
  const { clientId: subject, label } = entry;
  const stored = keys.get(applicationId) ?? [];
  const names = { subject, label };
  const left = stored.filter((key) => key.declaredByFile && !entry.keys.some(({ sha256 }) => sha256 === key.sha256));
  const revoked = left.map(({ apiKeyId }) => ({
    ...names,
    text: 'keys -1',
    action: 'AdminService/RevokeApiKey',
    run: (call: Call) => revokeApiKey(call, { apiKeyId }),
  }));
  const given = entry.keys.flatMap((key, index): Step[] => {
    const found = stored.find(({ sha256 }) => sha256 === key.sha256);
    if (found) return isSameKey(key, found) ? [] : [{ ...names, ...updateOf(key, found) }];
    if (left.some(({ name }) => name === key.name))
      throw new ApplicationsFileError(`${label}: keys[${index}].sha256 must not change: give the new key another name`);
    if (keyOwners.has(key.sha256))
      throw new ApplicationsFileError(`${label}: keys[${index}].sha256 is that of another application's key`);
    const { name, use, expiresAt } = key;
    const digest = Buffer.from(key.sha256, 'hex');
    const parameters = { applicationId, apiKeyId: randomUUID(), digest, name, use, expiresAt };
    const run = (call: Call) => storeApiKey(call, parameters);
    return [{ ...names, text: 'keys +1', action: 'AdminService/CreateApiKey', run }];
  });
  return [...revoked, ...given];
}

function isSameKey(key: DeclaredKey, stored: StoredKey): boolean {
  return stored.declaredByFile && key.name === stored.name && isSameUse(key, stored);
}

function isSameUse({ use, expiresAt }: DeclaredKey, stored: StoredKey): boolean {
  return use === stored.use && expiresAt?.getTime() === stored.expiresAt?.getTime();
}

function updateOf(key: DeclaredKey, stored: StoredKey): Pick<Step, 'text' | 'action' | 'run'> {
  const { applicationId, apiKeyId, declaredByFile } = stored;
  const isSilent = isSameUse(key, stored) && !declaredByFile;
  const { name, use, expiresAt } = key;
  const run = (call: Call) => call.run(updateKey, { applicationId, apiKeyId, name, use, expiresAt });
  return { text: isSilent ? undefined : 'keys ~1', action: 'DeclareApiKey', run };
}

/** First what the file does not name, so that an application never has more groups than it may. */
function accessSteps(entry: DeclaredApplication, applicationId: string, { file, state }: Context): Step[] {
  const { clientId: subject, label } = entry;
  const action = 'AdminService/SetGroupAccess';
  const stored = state.access.get(applicationId) ?? [];
  const deleted = new Set(file.groups.flatMap(({ name, fate }) => (fate === 'deleted' ? [name] : [])));
  const named = new Set(file.groups.map(({ name }) => name));
  const removed = stored
    .filter(({ group }) => entry.access.every((given) => given.group !== group))
    .map(({ groupId }) => {
      const run = (call: Call) => setGroupAccess(call, { groupId, applicationId });
      return { subject, label, text: 'access -1', action, run };
    });
  const given = entry.access.flatMap(({ group, allowsAccess, inClaim }, index): Step[] => {
    if (deleted.has(group) || !(named.has(group) || state.groups.has(group)))
      throw new ApplicationsFileError(`${label}: access[${index}].group is no group`);
    const found = stored.find((other) => other.group === group);
    if (found?.allowsAccess === allowsAccess && found.inClaim === inClaim) return [];
    const run = async (call: Call) => {
      const { groupId } = await getGroupByName(call, group);
      return setGroupAccess(call, { groupId, applicationId, allowsAccess, inClaim });
    };
    return [{ subject, label, text: found ? 'access ~1' : 'access +1', action, run }];
  });
  return [...removed, ...given];
}

/** Returns a line for each subject, with what changes. */
export async function describeSteps(
  steps: readonly Step[],
  countLosers: (losers: Losers) => Promise<number>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const [subject, own] of Map.groupBy(steps, (step) => step.subject)) {
    const texts = describeCounts(own.flatMap(({ text }) => text ?? []));
    if (texts.length === 0) continue;
    const losers = own.find((step) => step.losers)?.losers;
    const people = losers ? await countLosers(losers) : 0;
    const lost = people > 0 ? ` (${people} ${people === 1 ? 'person loses' : 'people lose'} access)` : '';
    lines.push(`${subject}: ${texts.join(', ')}${lost}`);
  }
  return lines;
}
