import type { Call } from '../../../domain/core/call.ts';
import { createGroup } from '../../../domain/groups/create-group.ts';
import { deleteGroup } from '../../../domain/groups/delete-group.ts';
import type { Group } from '../../../domain/groups/group.ts';
import { updateGroup } from '../../../domain/groups/update-group.ts';
import type { ApplicationsFile, DeclaredGroup } from '../parse-applications-file.ts';
import { describeChange } from './describe-change.ts';
import { markGroup } from './mark-declared.ts';
import type { State } from './read-state.ts';
import type { Step, StepNames } from './step.ts';

/** Returns the steps before those of applications, which may name new groups, and the steps after them. */
export function findGroupSteps({ groups }: Pick<ApplicationsFile, 'groups'>, state: Pick<State, 'groups'>) {
  const [first, last] = [[] as Step[], [] as Step[]];
  for (const entry of groups) {
    const names = { subject: `group ${entry.name}`, label: entry.label };
    const stored = state.groups.get(entry.name);
    if (entry.fate === 'declared') first.push(...declareGroup(entry, stored, names));
    else if (stored && entry.fate === 'deleted') last.push(deletionOf(stored, names));
    else if (stored && stored.declaredByFile !== null) last.push(markStep(names, stored, null, 'released'));
  }
  const named = new Set(groups.map(({ name }) => name));
  for (const stored of state.groups.values()) {
    const subject = `group ${stored.name}`;
    if (stored.declaredByFile && !named.has(stored.name))
      last.push(markStep({ subject, label: subject }, stored, false, 'no longer in the file'));
  }
  return { first, last };
}

function declareGroup({ name, displayName }: DeclaredGroup, stored: Group | undefined, names: StepNames): Step[] {
  if (!stored) {
    const run = (call: Call) => createGroup(call, { name, displayName });
    return [{ ...names, text: 'new', action: 'AdminService/CreateGroup', run }];
  }
  const steps: Step[] = [];
  if (stored.displayName !== displayName) {
    const run = (call: Call) => updateGroup(call, { groupId: stored.groupId, displayName });
    const text = describeChange('displayName', stored.displayName, displayName);
    steps.push({ ...names, text, action: 'AdminService/UpdateGroup', run });
  }
  if (stored.declaredByFile !== true) steps.push(markStep(names, stored, true));
  return steps;
}

function deletionOf({ groupId }: Group, names: StepNames): Step {
  const run = (call: Call) => deleteGroup(call, { groupId });
  return { ...names, text: 'deleted', action: 'AdminService/DeleteGroup', run };
}

function markStep(names: StepNames, { groupId }: Group, declared: boolean | null, text?: string): Step {
  const run = (call: Call) => call.run(markGroup, { groupId, declared });
  return { ...names, text, action: 'AdminService/UpdateGroup', run };
}
