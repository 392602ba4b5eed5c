/** Says in a few words what changes, as `plan` prints it. */
import { nameRequiredAssurance } from '../../../domain/core/assurance.ts';

export function describeChange(field: string, before: unknown, after: unknown): string {
  // Equivalent: condition: a field is a list before and after, or neither
  if (!Array.isArray(before) || !Array.isArray(after)) {
    return `${field} ${show(field, before)} → ${show(field, after)}`;
  }
  const [added, removed] = [countMissing(after, before), countMissing(before, after)];
  if (added + removed === 0) return `${field} in another order`;
  return [field, added > 0 && `+${added}`, removed > 0 && `-${removed}`].filter(Boolean).join(' ');
}

/** Returns how many items of `one` the other list lacks. */
function countMissing(one: readonly unknown[], other: readonly unknown[]): number {
  const known = new Set(other.map((item) => JSON.stringify(item)));
  return one.filter((item) => !known.has(JSON.stringify(item))).length;
}

function show(field: string, value: unknown): string {
  if (value === null) return 'none';
  if (field === 'requiredAssurance') return nameRequiredAssurance(Number(value));
  return JSON.stringify(value);
}

/** Adds up counts of one list: `keys +1` twice is `keys +2`. */
export function describeCounts(texts: readonly string[]): string[] {
  const counts = new Map<string, Map<string, number>>();
  const all: (string | [list: string])[] = [];
  for (const text of texts) {
    const [, list, sign = ''] = /^(keys|access) ([+~-])1$/.exec(text) ?? [];
    if (list === undefined) {
      all.push(text);
      continue;
    }
    const ofList = counts.get(list) ?? new Map<string, number>();
    if (!counts.has(list)) all.push([list]);
    counts.set(list, ofList.set(sign, (ofList.get(sign) ?? 0) + 1));
  }
  return all.map((text) => {
    if (typeof text === 'string') return text;
    const signs = [...(counts.get(text[0]) ?? [])].map(([sign, count]) => ` ${sign}${count}`);
    return text[0] + signs.join('');
  });
}
