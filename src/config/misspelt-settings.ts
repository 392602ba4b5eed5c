/** Finds environment variables that have no effect because their name is a misspelt name of a setting. */
import { isOneEditAway } from './is-one-edit-away.ts';

/** Shorter names, such as `PORT`, are one edit away from names that other programs use. */
const MIN_LENGTH = 8;

/** `names` are those of all settings. */
export function findMisspeltSettings(
  names: readonly string[],
  variables: readonly string[],
): { variable: string; setting: string }[] {
  const known = new Set(names);
  const settings = names.filter((name) => name.length >= MIN_LENGTH);
  return variables
    .filter((variable) => !known.has(variable))
    .flatMap((variable) => {
      const setting = settings.find((name) => isOneEditAway(variable, name));
      return setting ? [{ variable, setting }] : [];
    });
}
