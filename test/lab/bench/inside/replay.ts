/** Answers of Postgres, recorded at the first execution of a statement and given again at every later one. */
import type postgres from 'postgres';
import { Connection } from '../../../../src/database/connection/connection.ts';
import type { Db, Statement, StatementExecution } from '../../../../src/database/sql/statement.ts';
import type { Template } from '../../../../src/database/sql/template.ts';
import type { Query } from '../baselines/statements.ts';

/** Calls with one statement, whose answer does not depend on earlier calls. */
export const REPLAYED_CALLS: readonly string[] = [
  'GetWebhook',
  'ExchangeToken again',
  'GenerateAuthUrl',
  'DeleteEvent',
  'CheckIn',
];

/** Their statements. All others run on Postgres. */
const REPLAYED = [
  'select_webhook',
  'find_or_begin_session',
  'insert_login_intent',
  'mark_event_deleted',
  'insert_check_in',
];

/** Resolves in the next iteration of the event loop, together with all answers that are wanted in this one. */
class Replay<Key, Answer> {
  readonly #answers = new Map<Key, Answer>();
  #waiting: (() => void)[] = [];

  async answer(key: Key, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(key);
    if (known === undefined) {
      const asked = await ask();
      this.#answers.set(key, asked);
      return asked;
    }
    if (this.#waiting.length === 0) setImmediate(() => this.#release());
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return known;
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

/** Makes the connections of Usher replay. Values are still encoded, and rows decoded. */
export function replayConnections(sql: postgres.Sql): void {
  const run = Connection.prototype.run;
  const replay = new Replay<string, unknown>();
  const prepared = new Map<Statement<unknown>, ReturnType<Statement<unknown>>>();
  const prepare = (statement: Statement<unknown>, name: string) => {
    const values = (text: string, given: never[]) => () => replay.answer(name, () => sql.unsafe(text, given).values());
    const $client = { unsafe: (text: string, given: never[]) => ({ values: values(text, given) }) };
    // A template uses nothing else of it.
    const statementOnReplay = statement({ $client } as unknown as Db);
    prepared.set(statement, statementOnReplay);
    return statementOnReplay;
  };
  Connection.prototype.run = function <Rows>(this: Connection, execution: StatementExecution<Rows>) {
    const { statement, parameters } = execution;
    const { queryName } = statement as Partial<Template<Rows>>;
    if (queryName === undefined || !REPLAYED.includes(queryName)) return run.call(this, execution) as Promise<Rows>;
    return (prepared.get(statement) ?? prepare(statement, queryName)).execute(parameters) as Promise<Rows>;
  };
}

/** The same for a baseline. */
export function replayQueries(sql: postgres.Sql): Query {
  const replay = new Replay<string, never>();
  return ({ name, text }, values) =>
    replay.answer(name, async () => (await sql.unsafe(text, values as never[])) as unknown as never);
}
