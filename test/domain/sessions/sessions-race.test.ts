import { test } from 'vitest';
import { raceExchanges } from '../../support/races.ts';

test('exchanges that race on two replicas all get the one session', () => raceExchanges(12));
