import { expect, test } from 'vitest';
import type { PostgresClient } from '../../../src/database/sql/driver.ts';
import { mendResults } from '../../../src/database/sql/mend-results.ts';

test('a driver whose queries have another form is refused', () => {
  const client = { unsafe: () => ({}) } as unknown as PostgresClient;
  expect(() => mendResults(client)).toThrow('The installed postgres.js is another than that of package-lock.json');
});
