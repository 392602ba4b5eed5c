import type { WantedPort } from '../config/require-free-ports.ts';
import { deriveKeys } from '../domain/crypto/derived-keys.ts';
import type { PathHandler } from '../http/http-context.ts';
import type { Certificate } from '../http/tls.ts';
import type { Core, Early, Greeting, Offer, OpenedModule } from './module.ts';
import { type FullConfig, MODULES } from './modules.ts';

export interface OpenedModules extends AsyncDisposable {
  readonly byName: ReadonlyMap<string, OpenedModule>;
  readonly greetings: readonly Greeting[];
  readonly caches: NonNullable<OpenedModule['caches']>;
  readonly handlers: readonly PathHandler[];
  setCertificate(certificate: Certificate): void;
}

/** Returns the ports that settings of modules name. */
export function portsOfModules(config: FullConfig): readonly WantedPort[] {
  return MODULES.flatMap(({ portsOf }) => portsOf?.(config) ?? []);
}

/** Returns what the modules add, by their names, in the order in which they open. */
export function collectOffers(config: FullConfig, early: Omit<Early, 'accountKeys'>): ReadonlyMap<string, Offer> {
  const accountKeys = deriveKeys(early.secrets.encryptionKeys, 'account');
  return new Map(MODULES.map((module) => [module.name, module.offer?.(config, { ...early, accountKeys }) ?? {}]));
}

/** Opens the modules that the settings turn on, in order. Disposal closes them in reverse order. */
export async function openModules(offers: ReadonlyMap<string, Offer>, core: Core): Promise<OpenedModules> {
  await using stack = new AsyncDisposableStack();
  const byName = new Map<string, OpenedModule>();
  for (const [name, { open }] of offers) {
    if (!open) continue;
    const opened = await open(core);
    stack.defer(async () => opened[Symbol.asyncDispose]?.());
    byName.set(name, opened);
  }
  const all = [...byName.values()];
  const disposables = stack.move();
  return {
    byName,
    greetings: all.flatMap(({ greeting }) => greeting ?? []),
    caches: Object.assign({}, ...all.map(({ caches }) => caches)),
    handlers: all.flatMap(({ handlers = [] }) => handlers),
    setCertificate(certificate) {
      for (const opened of all) opened.setCertificate?.(certificate);
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}
