import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { LOGIN_CONFIG, LoginBrowser, type LoginPage } from '../support/login-browser.ts';
import { startTestService } from '../support/service.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

it('the login page serves 100 requests at a time while Postgres hangs and refuses others with 503', async () => {
  await using service = await startTestService({ config: LOGIN_CONFIG });
  const { database, config: like } = service;
  await using proxy = await TcpProxy.open(database.url);
  const config = { databaseUrl: proxy.through(database.url) };
  await using slow = await startTestService({ database, like, config });
  const visit = () => new LoginBrowser(slow).open(`/login?intent=${randomUUID()}`);
  expect((await visit()).status).toBe(404);
  await proxy.setMode('freeze');
  const refused: LoginPage[] = [];
  const crowd = Array.from({ length: 140 }, async () => {
    const page = await visit();
    if (page.status === 503) refused.push(page);
    return page.status;
  });
  await expect.poll(() => refused.length).toBe(40);
  expect(refused[0]).toMatchObject({ heading: 'We cannot sign you in right now', headers: { 'retry-after': '1' } });
  await proxy.setMode('pass');
  expect((await Promise.all(crowd)).filter((status) => status === 404)).toHaveLength(100);
  expect((await visit()).status).toBe(404);
});
