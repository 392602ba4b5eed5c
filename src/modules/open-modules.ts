import type { WantedPort } from '../config/require-free-ports.ts';
import { deriveKeys } from '../domain/crypto/aes-gcm.ts';
import type { PathHandler } from '../http/http-context.ts';
import type { Certificate } from '../http/tls.ts';
import type { PageOffer } from '../login-page/page-offer.ts';
import type { Core, Greeting, OpenedModule, PageSetup } from './module.ts';
import { type FullConfig, MODULES } from './modules.ts';

export interface OpenedModules extends AsyncDisposable {
  readonly byName: ReadonlyMap<string, OpenedModule>;
  readonly greetings: readonly Greeting[];
  readonly caches: NonNullable<OpenedModule['caches']>;
  readonly handlers: readonly PathHandler[];
  readonly laterHandlers: readonly PathHandler[];
  setCertificate(certificate: Certificate): void;
}

/** Returns the ports that settings of modules name. */
export function portsOfModules(config: FullConfig): readonly WantedPort[] {
  return MODULES.flatMap(({ portsOf }) => portsOf?.(config) ?? []);
}

/** Returns what the modules add to the pages. */
export function createPageOffers(config: FullConfig, setup: Omit<PageSetup, 'accountKeys'>): readonly PageOffer[] {
  const accountKeys = deriveKeys(setup.encryptionKeys, 'account');
  return MODULES.flatMap((module) => module.createPageOffer?.(config, { ...setup, accountKeys }) ?? []);
}

/** Opens the modules that the settings turn on, in order. Disposal closes them in reverse order. */
export async function openModules(config: FullConfig, core: Omit<Core, 'greetings'>): Promise<OpenedModules> {
  await using stack = new AsyncDisposableStack();
  const byName = new Map<string, OpenedModule>();
  const greetings: Greeting[] = [];
  for (const { name, open } of MODULES) {
    const opened = await open?.(config, { ...core, greetings });
    if (!opened) continue;
    stack.defer(async () => opened[Symbol.asyncDispose]?.());
    byName.set(name, opened);
    if (opened.greeting) greetings.push(opened.greeting);
  }
  const all = [...byName.values()];
  const disposables = stack.move();
  return {
    byName,
    greetings,
    caches: Object.assign({}, ...all.map(({ caches }) => caches)),
    handlers: all.flatMap(({ handler }) => handler ?? []),
    laterHandlers: all.flatMap(({ laterHandlers = [] }) => laterHandlers),
    setCertificate(certificate) {
      for (const opened of all) opened.setCertificate?.(certificate);
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
