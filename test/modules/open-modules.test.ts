/** How modules are opened, one after the other, and closed. */
import { expect, test } from 'vitest';
import type { Core, Offer, OpenedModule } from '../../src/modules/module.ts';
import { openModules } from '../../src/modules/open-modules.ts';

const core = {} as Core;

function offer(name: string, events: string[], opened: OpenedModule = {}): [string, Offer] {
  const open = async () => {
    events.push(`open ${name}`);
    return { ...opened, [Symbol.asyncDispose]: async () => void events.push(`close ${name}`) };
  };
  return [name, { open }];
}

test('those that are on open in order, have their names and parts, and close in reverse', async () => {
  const events: string[] = [];
  const handler = async () => true;
  const certificate = { cert: 'cert', key: 'key' };
  const first = offer('first', events, { handlers: [handler], greeting: { title: 'First', url: '', text: '' } });
  const setCertificate = (given: object) => void events.push(`certificate ${given === certificate}`);
  const second = offer('second', events, { caches: { many: {} as never }, setCertificate });
  {
    await using opened = await openModules(new Map([first, ['off', {}], second]), core);
    expect([...opened.byName.keys()]).toEqual(['first', 'second']);
    expect(opened.handlers).toEqual([handler]);
    expect(opened.greetings.map(({ title }) => title)).toEqual(['First']);
    expect(Object.keys(opened.caches)).toEqual(['many']);
    opened.setCertificate(certificate);
    expect(events).toEqual(['open first', 'open second', 'certificate true']);
  }
  expect(events.slice(3)).toEqual(['close second', 'close first']);
});

test('those that are open close if a later one cannot open', async () => {
  const events: string[] = [];
  const broken: [string, Offer] = ['broken', { open: () => Promise.reject(new Error('the port is taken')) }];
  await expect(openModules(new Map([offer('first', events), broken]), core)).rejects.toThrow('the port is taken');
  expect(events).toEqual(['open first', 'close first']);
});
