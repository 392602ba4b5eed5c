import { type Config, readConfig } from '../config/config.ts';
import type { Settings } from '../config/setting.ts';
import { SETTINGS } from '../config/settings.ts';
import { accountModule } from './account/module.ts';
import { consoleModule } from './console/module.ts';
import { declaredModule } from './declared/module.ts';
import { demoModule } from './demo/module.ts';
import type { Module } from './module.ts';
import { oidcModule } from './oidc/module.ts';
import { passkeysModule } from './passkeys/module.ts';
import { providersModule } from './providers/module.ts';
import { rememberedSignInsModule } from './remembered-sign-ins/module.ts';
import { secondFactorModule } from './second-factor/module.ts';
import { walletsModule } from './wallets/module.ts';

/**
 * The optional parts of Usher, in the order in which they open, and of the account page. Nothing else outside their
 * folders names them.
 */
const LIST = [
  consoleModule,
  declaredModule,
  demoModule,
  oidcModule,
  passkeysModule,
  secondFactorModule,
  accountModule,
  walletsModule,
  providersModule,
  rememberedSignInsModule,
] as const;

/** The settings of the core and of every module. */
export type FullConfig = ConfigOf<(typeof LIST)[number]>;

export const MODULES: readonly Module<FullConfig>[] = LIST;

/** The intersection of the configurations of all modules of a union. */
type ConfigOf<Modules> = (Modules extends Module<infer ItsConfig> ? (config: ItsConfig) => void : never) extends (
  config: infer All,
) => void
  ? All & Config
  : never;

/** All settings, by the names of their fields. */
export const ALL_SETTINGS = Object.assign({}, SETTINGS, ...MODULES.map(({ settings }) => settings)) as Settings;

/** Reads the settings of the core and of every module. @throws ConfigError */
export function readFullConfig(...[env, readFile]: Parameters<typeof readConfig>): FullConfig {
  return readConfig(env, readFile, MODULES) as FullConfig;
}
