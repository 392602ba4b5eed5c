/**
 * Runs test files again and again in one worker of Vitest, as the process that has started it orders. The modules stay
 * loaded, and contain all faults, of which one is active.
 */
import { resolve } from 'node:path';
import { type RunnerTask, TestRunner } from 'vitest';
import { startTests } from 'vitest/internal/browser';
import {
  ANYWHERE,
  AT_LOAD,
  type Fault,
  IN_HOOKS,
  marksOf,
  type Order,
  type Outcome,
  plantInStatement,
  type RunTest,
} from './fault.ts';

// Tests replace it.
const { fetch } = globalThis;

let active: Pick<Fault, 'id' | 'sql'> | undefined;
let activeId = '';
/** What is recorded now: what is reached at all, and what may be seen at this place. */
let reachedAnywhere: Set<string> | undefined;
let reached: Set<string> | undefined;
/** What is reached while a module of `src` is loaded. */
let reachedAtLoad: Set<string> | undefined;
let loading = 0;

globalThis.$loading = (change) => {
  loading += change;
};
globalThis.$fault = (id) => {
  note(id, true);
  return id === activeId;
};
globalThis.$decide = (id, other, value) => {
  note(id, Boolean(value) !== other);
  return id === activeId ? other : value;
};
globalThis.$compare = (id, compare, left, right) => {
  const areEqual = !(left < right) && !(left > right);
  note(id, areEqual);
  return compare(left, right) !== (areEqual && id === activeId);
};
globalThis.$statement = (text) => {
  if (reached && text.includes('[*/')) {
    for (const id of marksOf(text)) note(id, true);
  }
  return plantInStatement(text, active);
};

/** @param isSeen whether the fault changes a value here */
function note(id: string, isSeen: boolean): void {
  reachedAnywhere?.add(id);
  if (isSeen) (loading > 0 ? reachedAtLoad : reached)?.add(id);
}

/** Runs one file. It tells Vitest nothing. */
class QuietRunner extends TestRunner {
  readonly record: Record<string, Set<string>> = { [ANYWHERE]: new Set() };
  readonly tests: RunTest[] = [];
  #startedAt = 0;
  readonly #order: Order;

  constructor(host: FaultRunner, order: Order) {
    super(host.config);
    // The types hide what a runner needs.
    const { moduleRunner, _otel } = host as never as Record<string, unknown>;
    Object.assign(this, { moduleRunner, _otel, onCleanupWorkerContext: undefined });
    this.#order = order;
    // Code that a test file runs when it is loaded is like that of its hooks.
    this.#recordAs(IN_HOOKS);
    if (order.isRecording) this.record[AT_LOAD] = reachedAtLoad = new Set();
  }

  override async onBeforeRunTask(test: RunnerTask): Promise<void> {
    await super.onBeforeRunTask(test);
    this.#startedAt = readCpuMs();
    this.#recordAs(test.id);
  }

  override onAfterRunTask(test: RunnerTask): void {
    super.onAfterRunTask(test);
    const { id, fullTestName = '', result } = test;
    const hasPassed = result?.state === 'pass';
    const [title, ms, cpuMs] = [
      fullTestName.replaceAll(' > ', ' '),
      result?.duration ?? 0,
      readCpuMs() - this.#startedAt,
    ];
    if (hasPassed || result?.state === 'fail') this.tests.push({ id, title, ms, cpuMs, hasPassed });
    this.#recordAs(IN_HOOKS);
    if (result?.state === 'fail' && this.#order.bail) this.cancel('test-failure');
  }

  #recordAs(place: string): void {
    if (!this.#order.isRecording) return;
    this.record[place] ??= new Set();
    reached = this.record[place];
    reachedAnywhere = this.record[ANYWHERE];
  }
}

export default class FaultRunner extends TestRunner {
  /** Called for a file that has no tests, in place of its tests. */
  async onBeforeRunFiles(): Promise<void> {
    const url = this.injectValue('faultsUrl');
    for (let outcome: Outcome | undefined; ; ) {
      const body = JSON.stringify({ pid: process.pid, outcome });
      const response = await fetch(url, { method: 'POST', body }).catch(() => undefined);
      // Nobody is left who orders.
      if (!response) return void process.kill(process.pid, 'SIGKILL');
      const { changed, ...order } = (await response.json()) as Order & { changed: string[] };
      const { evaluatedModules } = Reflect.get(globalThis, '__vitest_worker__');
      for (const file of changed)
        for (const module of evaluatedModules.getModulesByFile(file) ?? []) evaluatedModules.invalidateModule(module);
      outcome = await this.#run(order);
    }
  }

  override importFile(): void {}

  async #run(order: Order): Promise<Outcome> {
    const { tests, limitMs, fault, mustReload } = order;
    const filepath = resolve(order.file);
    const state = Reflect.get(globalThis, '__vitest_worker__');
    if (mustReload) unloadModules(state.evaluatedModules.idToModuleMap);
    state.filepath = filepath;
    for (const config of [this.config, state.config])
      Object.assign(config, {
        testTimeout: limitMs,
        hookTimeout: limitMs,
        // What a test waits for in vain ends before the test does.
        expect: { ...config.expect, poll: { ...config.expect?.poll, timeout: limitMs / 2 } },
      });
    // One that has failed to load has not ended.
    loading = 0;
    active = fault?.sql && fault;
    // A name of a property is compared by its address.
    activeId = Object.keys({ [fault?.id ?? '']: 0 })[0] ?? '';
    const runner = new QuietRunner(this, order);
    const startedAt = readCpuMs();
    const files = await startTests([{ filepath, ...(tests && { testIds: [...tests] }) } as never], runner);
    active = undefined;
    activeId = '';
    reached = undefined;
    reachedAtLoad = undefined;
    reachedAnywhere = undefined;
    const cpuMs = readCpuMs() - startedAt;
    const isBroken = files.flatMap(listSuites).some(({ result }) => (result?.errors?.length ?? 0) > 0);
    const places = Object.entries(runner.record).map(([place, ids]) => [place, [...ids]] as const);
    return { tests: runner.tests, isBroken, cpuMs, reached: Object.fromEntries(places) };
  }
}

function readCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** As `vi.resetModules` does. */
function unloadModules(modules: Map<string, Record<string, unknown> & { importers: Set<string> }>): void {
  for (const [path, module] of modules) {
    if (/\/vitest\/dist\//.test(path)) continue;
    Object.assign(module, { promise: undefined, exports: undefined, evaluated: false });
    module.importers.clear();
  }
}

function listSuites(task: RunnerTask): RunnerTask[] {
  return 'tasks' in task ? [task, ...task.tasks.flatMap(listSuites)] : [];
}
