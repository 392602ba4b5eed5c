import type { ModuleSettings } from '../../config/config.ts';
import { setting, type ValuesOf } from '../../config/setting.ts';

const MAX_BYTES = 1_024 * 1_024;

const SETTINGS_OF_DECLARED = {
  applicationsFile: setting(
    'APPLICATIONS_FILE',
    requireSize,
    'JSON file that declares applications and groups. Nothing else changes them. Usher reads the file again when it changes.',
    { isFile: true },
  ),
};

type OwnValues = ValuesOf<typeof SETTINGS_OF_DECLARED>;

export interface DeclaredConfig extends OwnValues {
  /** The path of `APPLICATIONS_FILE`. Logos are relative to it. */
  readonly applicationsPath: string | undefined;
}

/** What declared applications add to the settings. */
export const ofDeclared: ModuleSettings<OwnValues> = {
  settings: SETTINGS_OF_DECLARED,
  complete: (env): Omit<DeclaredConfig, keyof OwnValues> => ({ applicationsPath: env.APPLICATIONS_FILE || undefined }),
};

/** Returns the text. It is read only if it has not been applied. @throws Error whose message continues the name of the setting */
export function requireSize(text: string): string {
  if (Buffer.byteLength(text) > MAX_BYTES) throw new Error('must have at most 1 MiB');
  return text;
}
