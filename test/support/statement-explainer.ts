/** Explains how Postgres runs statements: which rows it reads, and by what. */
import { fillPlaceholders } from 'drizzle-orm';
import { type MockInstance, vi } from 'vitest';
import { Database, type PlaceholderValues, type Statement } from '../../src/database/pool/database.ts';
import { formOf } from '../../src/database/pool/statement-runner.ts';
import type { TestDatabase } from './database.ts';
import { describeStatement } from './statement-record.ts';

/** Whether a plan is made for the parameters at hand, or once for all, as Postgres may do after five times. */
export type PlanMode = 'force_custom_plan' | 'force_generic_plan';

export interface ExplainedStatement {
  /** The form that the layout of the database chose. */
  readonly statement: Statement<unknown>;
  /** As `.prepare('name')` has it. */
  readonly name: string;
  readonly sql: string;
  /** Those of the first time. */
  readonly parameters: PlaceholderValues;
  readonly plans: Plans;
}

export type Plans = Readonly<Partial<Record<PlanMode, PlanNode>>>;

interface ExplainSettings {
  /** Of `explain`. */
  readonly options: string;
  readonly modes: readonly PlanMode[];
}

/** A node of a plan as `explain (analyze, format json)` shows it. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  /** As Postgres estimates it, in units of its own. */
  readonly 'Total Cost': number;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  /** With `buffers`, of the node and those below. */
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** 1000 times `cpu_operator_cost`. */
const PLANNING_COST_OF_TABLE = 2.5;

/** Explains every statement of this process's databases before it runs, with its parameters and rows of the first time. */
export class StatementExplainer implements Disposable {
  readonly explained: ExplainedStatement[] = [];
  readonly #seen = new Map<Statement<unknown>, Promise<void>>();
  readonly #sql: TestDatabase['sql'];
  readonly #settings: ExplainSettings;
  #count = 0;
  readonly #run: MockInstance<Database['run']>;

  constructor({ sql }: Pick<TestDatabase, 'sql'>, settings: Partial<ExplainSettings> = {}) {
    this.#sql = sql;
    this.#settings = {
      options: 'analyze, format json',
      modes: ['force_custom_plan', 'force_generic_plan'],
      ...settings,
    };
    const { run } = Database.prototype;
    const explainOnce = (statement: Statement<unknown>, parameters: PlaceholderValues) => {
      const explained =
        this.#seen.get(statement) ??
        this.explainStatement(statement, parameters).then((each) => void this.explained.push(each));
      this.#seen.set(statement, explained);
      return explained;
    };
    this.#run = vi.spyOn(Database.prototype, 'run').mockImplementation(async function (
      this: Database,
      statement,
      parameters,
      deadline,
    ) {
      const form = formOf(statement, this.layout);
      if (form) await explainOnce(form, parameters);
      return run.call(this, statement, parameters, deadline);
    });
  }

  /** Changes nothing. */
  async explain(sql: string, parameters: readonly unknown[], mode: PlanMode): Promise<PlanNode> {
    const values = parameters.length > 0 ? `(${parameters.map(toLiteral).join(', ')})` : '';
    return this.#sql
      .begin(async (transaction) => {
        // An error would leave it prepared.
        const name = `explained_${this.#count++}`;
        await transaction.unsafe(`set local plan_cache_mode = ${mode}; prepare ${name} as ${sql}`);
        const [row] = await transaction.unsafe(`explain (${this.#settings.options}) execute ${name}${values}`);
        await transaction.unsafe(`deallocate ${name}`);
        throw new RolledBack(row?.['QUERY PLAN'][0].Plan);
      })
      .catch((outcome) => {
        if (outcome instanceof RolledBack) return outcome.plan;
        throw outcome;
      });
  }

  /** Changes nothing. */
  async explainStatement(statement: Statement<unknown>, parameters: PlaceholderValues): Promise<ExplainedStatement> {
    const { name, sql, params } = describeStatement(statement);
    const values = fillPlaceholders(params, parameters);
    const plans: Partial<Record<PlanMode, PlanNode>> = {};
    for (const mode of this.#settings.modes) plans[mode] = await this.explain(sql, values, mode);
    return { name, sql, parameters, statement, plans };
  }

  [Symbol.dispose](): void {
    this.#run.mockRestore();
  }
}

class RolledBack extends Error {
  readonly plan: PlanNode;

  constructor(plan: PlanNode) {
    super('Rolled back');
    this.plan = plan;
  }
}

/** Returns each read of a table with the number of rows it looked at, wanted or not. */
export function readsOf(node: PlanNode | undefined): { type: string; table: string; rows: number }[] {
  if (!node) return [];
  const below = (node.Plans ?? []).flatMap(readsOf);
  const { 'Node Type': type, 'Relation Name': table } = node;
  if (table === undefined || type === 'ModifyTable') return below;
  const perLoop =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return [{ type, table, rows: Math.round(perLoop * node['Actual Loops']) }, ...below];
}

/**
 * Returns whether Postgres makes a plan at each execution, instead of once: if the one for all parameters costs more than
 * those for each, planning included. See `choose_custom_plan` of Postgres.
 */
export function isPlannedAnew({ plans }: Pick<ExplainedStatement, 'plans'>): boolean {
  const { force_custom_plan: custom, force_generic_plan: generic } = plans;
  if (!custom || !generic) throw new Error('Both plans must be known');
  const planning = PLANNING_COST_OF_TABLE * (new Set(readsOf(custom).map(({ table }) => table)).size + 1);
  return generic['Total Cost'] >= custom['Total Cost'] + planning;
}

/** Returns whether a plan writes or locks rows. */
export function changesRows(node: PlanNode | undefined): boolean {
  if (!node) return false;
  return ['ModifyTable', 'LockRows'].includes(node['Node Type']) || (node.Plans ?? []).some(changesRows);
}

/** Returns how many pages of 8 kB it has read, from memory or from disk. */
export function countBuffers(node: PlanNode | undefined): number {
  return (node?.['Shared Hit Blocks'] ?? Number.NaN) + (node?.['Shared Read Blocks'] ?? Number.NaN);
}

/** Returns how many shards the widest part of a statement reads or writes on Citus. */
export function countShards(plan: unknown): number {
  if (typeof plan !== 'object' || plan === null) return 0;
  const below = Object.values(plan).map(countShards);
  return Math.max('Task Count' in plan ? Number(plan['Task Count']) : 0, ...below, 0);
}

function toLiteral(value: unknown): string {
  if (value === null) return 'null';
  const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}
