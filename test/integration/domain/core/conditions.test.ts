/** Conditions of the parts of statements that many share, a row each. */
import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { p, statement, t } from '../../../../src/database/sql/template.ts';
import { labelOf } from '../../../../src/domain/core/application-label.ts';
import { claimed, findUnfinished, listUnfinished } from '../../../../src/domain/core/unfinished-changes.ts';
import { at, NOW, openDomain } from '../../../support/domain-scene.ts';

const { sql, callAt, createApplication } = await openDomain();
const call = callAt();

describe('the label of an application', () => {
  const selectLabel = statement('select_label', { label: t.text })`
    select ${labelOf('a')} as label from applications a where id = ${p.uuid('applicationId')}`;
  const OWN = { client_id: 'client_abcdef', redirect_uris: ['https://app.test/a'] };
  const ELSEWHERE = { redirect_uris: ['https://other.test/a'] };

  test.each<[string, others: readonly object[], label: string, own?: object]>([
    ['is its name', [], 'Shop'],
    ['is its name beside another', [{ name: 'Shopping', ...ELSEWHERE }], 'Shop'],
    ['has its host beside one of the name', [ELSEWHERE], 'Shop (app.test)'],
    ['has its host beside one of the name in other letters', [{ name: 'SHOP', ...ELSEWHERE }], 'Shop (app.test)'],
    ['has no host beside a deleted one', [{ deleted_at: NOW, ...ELSEWHERE }], 'Shop'],
    ['has its client beside one of the host', [{}], 'Shop (…abcdef)'],
    ['has its client if one of several has the host', [ELSEWHERE, {}], 'Shop (…abcdef)'],
    ['has its client without a host', [ELSEWHERE], 'Shop (…abcdef)', { redirect_uris: ['com.example.app:/a'] }],
  ])('%s', async (_, others, label, own = {}) => {
    await sql`truncate applications cascade`;
    const applicationId = await createApplication({ name: 'Shop', ...OWN, ...own });
    for (const other of others) await createApplication({ name: 'Shop', redirect_uris: OWN.redirect_uris, ...other });
    expect(await call.run(selectLabel, { applicationId })).toEqual([{ label }]);
  });
});

describe('an unfinished change', () => {
  const [NONE, AFTER] = ['00000000-0000-0000-0000-000000000000', randomUUID()];
  const claim = statement('claim_change', { id: t.uuid })`with ${claimed} select id from claimed`;
  const insertChange = async (columns: object = {}) => {
    const row = {
      ...{ id: randomUUID(), kind: 'group', subject_id: randomUUID(), created_at: at(-1), due_at: NOW },
      ...columns,
    };
    await sql`insert into unfinished_changes ${sql(row as never)}`;
    return row.id;
  };
  beforeEach(() => sql`delete from unfinished_changes`);

  test.each<[string, columns: object, isClaimed: boolean]>([
    ['goes on where it is', {}, true],
    ['does not at another step', { step: 1 }, false],
    ['does not behind another row', { after: randomUUID() }, false],
  ])('%s', async (_, columns, isClaimed) => {
    const [id, other] = [await insertChange(columns), await insertChange()];
    const next = { nextStep: 2, nextAfter: AFTER, dueAt: at(5) };
    const found = await call.run(claim, { id, step: 0, after: NONE, ...next });
    expect(found).toEqual(isClaimed ? [{ id }] : []);
    const went = { step: 2, after: AFTER, due_at: at(5) };
    const rows = await sql`select id, step, after, due_at from unfinished_changes`;
    const stayed = { step: 0, after: NONE, due_at: NOW };
    const expected = [
      { id, ...stayed, ...columns, ...(isClaimed && went) },
      { id: other, ...stayed },
    ];
    expect(rows).toHaveLength(2);
    expect(rows).toEqual(expect.arrayContaining(expected));
  });

  test('is found by its ID, and listed when it is due, the first one first', async () => {
    const [now, later, before] = [
      await insertChange(),
      await insertChange({ due_at: at(1) }),
      await insertChange({ due_at: at(-1) }),
    ];
    for (const id of [now, later, before]) expect((await findUnfinished(call, id))?.id).toBe(id);
    expect((await listUnfinished(call, 9)).map(({ id }) => id)).toEqual([before, now]);
    expect((await listUnfinished(call, 1)).map(({ id }) => id)).toEqual([before]);
    expect(await findUnfinished(call, randomUUID())).toBeUndefined();
  });
});
