import type { PlaceholderValues, Statement } from '../../src/database/database.ts';
import { RecordingDatabase, type SentStatement } from './recording-database.ts';

/** Postgres plans for the given parameters, or once for all parameters after five executions. */
export type PlanMode = 'force_custom_plan' | 'force_generic_plan';

export interface ExplainedStatement extends SentStatement {
  readonly plans: Readonly<Record<PlanMode, PlanNode>>;
}

/** A node of a plan, as `explain (analyze, format json)` returns it. */
export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** A database that explains each statement before its first execution. */
export class ExplainingDatabase extends RecordingDatabase {
  /** By the statement's text. */
  readonly explained = new Map<string, ExplainedStatement>();

  override async run<Rows>(statement: Statement<Rows>, parameters: PlaceholderValues): Promise<Rows> {
    await this.client`begin`;
    await super.run(statement, parameters).finally(() => this.client`rollback`);
    const sent = this.sent.at(-1);
    if (sent && !this.explained.has(sent.sql)) {
      const plans = {
        force_custom_plan: await this.explain(sent.sql, sent.parameters, 'force_custom_plan'),
        force_generic_plan: await this.explain(sent.sql, sent.parameters, 'force_generic_plan'),
      };
      this.explained.set(sent.sql, { ...sent, plans });
    }
    return super.run(statement, parameters);
  }

  /** Returns the plan of one execution, which is rolled back. */
  async explain(sql: string, parameters: readonly unknown[], mode: PlanMode): Promise<PlanNode> {
    const values = parameters.length > 0 ? `(${parameters.map(toLiteral).join(', ')})` : '';
    try {
      await this.client.unsafe(`begin; set local plan_cache_mode = ${mode}; prepare explained as ${sql}`);
      const [row] = await this.client.unsafe(`explain (analyze, format json) execute explained${values}`);
      await this.client.unsafe('deallocate explained');
      return row?.['QUERY PLAN'][0].Plan;
    } finally {
      await this.client.unsafe('rollback');
    }
  }
}

/** Returns how many rows of each table the plan reads, including those that filters remove. */
export function readsOf(node: PlanNode): { type: string; table: string; rows: number }[] {
  const below = (node.Plans ?? []).flatMap(readsOf);
  const { 'Node Type': type, 'Relation Name': table } = node;
  if (table === undefined || type === 'ModifyTable') return below;
  const perLoop =
    node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return [{ type, table, rows: Math.round(perLoop * node['Actual Loops']) }, ...below];
}

function toLiteral(value: unknown): string {
  if (value === null) return 'null';
  const text = Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value);
  return `'${text.replaceAll("'", "''")}'`;
}
