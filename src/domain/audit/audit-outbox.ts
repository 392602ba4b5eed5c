/**
 * The outbox of audit events that go to the log. A statement inserts its event into a small table instead of
 * `audit_events`, so that the change and its event commit together. The event is deleted only after it is logged, so a
 * crash loses none.
 */
import { getTableColumns } from 'drizzle-orm';
import { anyOf } from '../../database/any-of.ts';
import { auditOutbox } from '../../database/audit-schema.ts';
import type { Divert, Run, Statement } from '../../database/database.ts';
import { columnsOf, p, statement, type Template } from '../../database/template.ts';
import type { AuditEvent } from './list-audit-events.ts';

/** How many event IDs are kept in memory. `findLateEvents` finds the events beyond them. */
const MAX_NOTED = 10_000;
/** From this age on, any process logs an event. Its own process needs much less time. */
const LATE_MS = 60_000;
const BATCH_SIZE = 500;

const columns = getTableColumns(auditOutbox);

const selectNoted = statement('select_audit_outbox', columns)`
  select ${columnsOf(columns)} from audit_outbox where id = ${anyOf(p.uuids('ids'))} order by occurred_at, id`;

const selectLate = statement('select_late_audit_outbox', columns)`
  select ${columnsOf(columns)} from audit_outbox where occurred_at < ${p.instant('before')}
  order by occurred_at, id limit ${p.integer('limit')}`;

const deleteLogged = statement('delete_audit_outbox')`
  delete from audit_outbox where id = ${anyOf(p.uuids('ids'))}`;

export class AuditOutbox {
  readonly #diverted = new WeakMap<Statement<unknown>, Statement<unknown>>();
  #noted: string[] = [];
  #arrival = Promise.withResolvers<void>();

  /** Runs a statement with the outbox in place of `audit_events`. */
  readonly divert: Divert = (given, parameters, run) => {
    const diverted = this.#find(given);
    if (diverted === given) return run(given);
    const answer = run(diverted);
    // A statement that failed may have committed: the connection may have broken before its answer.
    const note = () => this.#note(String(parameters.auditId));
    answer.then(note, note);
    return answer;
  };

  /** Resolves when this process has events in the outbox. */
  get arrival(): Promise<void> {
    return this.#arrival.promise;
  }

  get hasEvents(): boolean {
    return this.#noted.length > 0;
  }

  /**
   * Takes the IDs of the next events of this process. Some IDs have no event, because their statement changed nothing.
   */
  take(): readonly string[] {
    const ids = this.#noted.splice(0, BATCH_SIZE);
    if (this.#noted.length === 0) this.#arrival = Promise.withResolvers();
    return ids;
  }

  #note(id: string): void {
    if (this.#noted.length >= MAX_NOTED) return;
    this.#noted.push(id);
    this.#arrival.resolve();
  }

  #find<Rows>(given: Statement<Rows>): Statement<Rows> {
    const known = this.#diverted.get(given);
    // `toOutbox` keeps the type of the rows.
    if (known) return known as Statement<Rows>;
    const diverted = toOutbox(given);
    this.#diverted.set(given, diverted);
    return diverted;
  }
}

function toOutbox<Rows>(given: Statement<Rows>): Statement<Rows> {
  if (!('reword' in given)) return given;
  const template = given as Template<Rows>;
  const change = (text: string) => text.replace('insert into audit_events', 'insert into audit_outbox');
  return change(template.text()) === template.text() ? given : template.reword(change);
}

export function findEvents(run: Run, ids: readonly string[]): Promise<AuditEvent[]> {
  return run(selectNoted, { ids });
}

/** Returns events whose process has ended, or had too many to remember their IDs. */
export function findLateEvents(run: Run, now: Date): Promise<AuditEvent[]> {
  return run(selectLate, { before: new Date(now.getTime() - LATE_MS), limit: BATCH_SIZE });
}

export async function removeEvents(run: Run, ids: readonly string[]): Promise<void> {
  await run(deleteLogged, { ids });
}
