/** Applies `APPLICATIONS_FILE` at the start and whenever it changes, and says where it stands. */

import { isLoginMethod } from '../../config/login-methods.ts';
import { DatabaseUnavailableError } from '../../database/pool/database.ts';
import { countDeclared } from '../../domain/applications/count-declared.ts';
import type { Call } from '../../domain/core/call.ts';
import { watchFiles } from '../../jobs/watch-files.ts';
import { pause } from '../../pause.ts';
import type { Core, ModuleHealth, OpenedModule } from '../module.ts';
import { applyFile, compareFile, type Standing, selectGone } from './domain/apply-file.ts';
import { readAppliedFile } from './domain/read-state.ts';
import { ApplicationsFileError, digestOfFile, parseApplicationsFile } from './parse-applications-file.ts';

type Needed = Pick<
  Core,
  'apiKeys' | 'clock' | 'closing' | 'database' | 'health' | 'logger' | 'onMessage' | 'providers' | 'requestTimeoutMs'
>;

/** How often a replica looks whether another one has applied another file. */
const LOOK_MS = 10_000;
const RETRY_MS = 2_000;

const WARNINGS: Readonly<Partial<Record<Standing, string>>> = {
  older: 'applications file is older than the one that was applied',
  different: 'applications file differs from the one that was applied',
  'without revision': 'applications file has no revision, unlike the one that was applied',
};

/** @throws Error of one line if the file is invalid */
export async function openDeclared(
  { text, path }: { readonly text: string; readonly path: string },
  core: Needed,
): Promise<OpenedModule> {
  const file = new DeclaredFile(path, core);
  await file.use(text).catch((error: Error) => {
    throw new Error(`APPLICATIONS_FILE ${error.message}`, { cause: error });
  });
  core.health.add(file.readHealth);
  const { closing: signal, logger } = core;
  const watching = watchFiles([path], {
    signal,
    seen: [text],
    use: (changed = '') => file.useUnlessClosed(changed),
    onError: (error) => {
      file.problem = error instanceof ApplicationsFileError ? error.message : 'names a file that cannot be read';
      logger.error({ err: error }, 'applications not read');
    },
  });
  const looking = file.lookAgain();
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all([watching, looking]);
    },
  };
}

class DeclaredFile {
  /** Continues the name of the setting. */
  problem: string | undefined;
  readonly #path: string;
  readonly #core: Needed;
  /** Of the file in use. */
  #digest = '';
  #revision: number | null = null;
  #standing: Standing = 'same';
  /** The two files that the log has compared. */
  #reported = '';

  constructor(path: string, core: Needed) {
    this.#path = path;
    this.#core = core;
  }

  /** An unchanged file is not even parsed. @throws ApplicationsFileError, DatabaseUnavailableError */
  async use(text: string): Promise<void> {
    const { apiKeys, clock, database, logger, onMessage, providers, requestTimeoutMs } = this.#core;
    const digest = digestOfFile(text);
    const applied = await readAppliedFile(database.eachWithin(requestTimeoutMs));
    let standing: Standing = 'same';
    if (applied?.digest === digest) this.#revision = applied.revision;
    else {
      const isKnownMethod = (name: string) => isLoginMethod(name) || providers.issuers.has(name);
      const file = parseApplicationsFile(text, this.#path, isKnownMethod);
      standing = await applyFile(database, file, { now: clock(), onMessage });
      this.#revision = file.revision;
    }
    this.#digest = digest;
    this.problem = undefined;
    if (standing === 'new') {
      apiKeys.clear();
      logger.info({ digest, revision: this.#revision }, 'applications read');
    }
    this.#report(standing, applied?.digest ?? '');
  }

  /** Tries again while Postgres is unavailable. */
  async useUnlessClosed(text: string): Promise<void> {
    const { closing, logger } = this.#core;
    while (!closing.aborted) {
      try {
        return await this.use(text);
      } catch (error) {
        if (!(error instanceof DatabaseUnavailableError)) throw error;
        this.problem = 'is not applied yet, because Postgres does not answer';
        logger.warn({ err: error }, 'applications not applied yet');
        await pause(RETRY_MS, closing);
      }
    }
  }

  /** Says in the log once if another replica has applied another file. */
  async lookAgain(): Promise<void> {
    const { closing, database, requestTimeoutMs } = this.#core;
    for (;;) {
      await pause(LOOK_MS, closing);
      if (closing.aborted) return;
      const applied = await readAppliedFile(database.eachWithin(requestTimeoutMs)).catch(() => undefined);
      if (!applied) continue;
      const standing = compareFile({ digest: this.#digest, revision: this.#revision }, applied);
      // A file without a revision that is not in force: another replica has applied its own later.
      this.#report(standing === 'new' ? 'different' : standing, applied.digest);
    }
  }

  #report(standing: Standing, appliedDigest: string): void {
    const warning = WARNINGS[standing];
    this.#standing = standing;
    const files = this.#digest + appliedDigest;
    if (warning === undefined || this.#reported === files) return;
    this.#reported = files;
    this.#core.logger.warn({ digest: this.#digest, revision: this.#revision, applied: appliedDigest }, warning);
  }

  readonly readHealth = async ({ run }: Pick<Call, 'run'>): Promise<ModuleHealth> => {
    const warning = WARNINGS[this.#standing];
    const counts = await countDeclared(run).catch(() => undefined);
    // Equivalent: choice: it saves a statement that would find nothing
    const gone = counts?.gone ? await run(selectGone, {}).catch(() => []) : [];
    return {
      id: 'declared',
      title: 'Declared applications',
      problems: [
        ...(this.problem === undefined ? [] : [`APPLICATIONS_FILE ${this.problem}.`]),
        ...(warning === undefined ? [] : [`The ${warning}.`]),
      ],
      facts: [
        ['Revision', String(this.#revision ?? 'none')],
        ['Declared', String(counts?.declared ?? 'cannot be read')],
        ['No longer in the file', gone.map(({ clientId }) => clientId).join(', ') || 'none'],
      ],
    };
  };
}
