/** What ends a sign-in that waits for its second step, and what it takes once. */
import { afterAll, describe, expect, it } from 'vitest';
import { formOf, type LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { createPersonWithApp, reachStep, STEP, setUpApp } from '../../../support/second-factor.ts';
import { adminClient, clientsOf, createTenant } from '../../../support/service.ts';

const fixture = await LoginFixture.open({ start: new Date() });
afterAll(fixture.close);
const { service, clock } = fixture;

const createPerson = () => createPersonWithApp(fixture);
const reach = (by: Parameters<typeof reachStep>[1]) => reachStep(fixture, by);

describe('a held sign-in', () => {
  const admin = adminClient(service);
  const { sessions } = clientsOf(service, fixture.tenant);

  it.each<[string, (userId: string) => Promise<unknown>]>([
    ['RevokeUserSessions', (userId) => sessions.revokeUserSessions({ userId })],
    ['EndUserSessions', (userId) => admin.endUserSessions({ userId })],
    ['ResetSecondFactor', (userId) => admin.resetSecondFactor({ userId })],
    ['DeactivateUser', (userId) => admin.deactivateUser({ userId })],
    ['EraseUser', (userId) => admin.eraseUser({ userId })],
    ['a change of the address', (userId) => admin.updateUser({ userId, email: `new-${userId}@example.com` })],
    ['10 minutes', async () => clock.advance(10 * 60_000)],
  ])('ends with %s', async (_, end) => {
    const { user, app } = await createPerson();
    const step = await reach({ user });
    await end(user.id);
    const code = app.codeAt(clock.read());
    const reply = await step.browser.submit(step.page, STEP, { code });
    expect(reply.location ?? '').not.toContain('authToken');
    expect(await fixture.isCompleted(step.login.loginIntentId)).toBe(false);
  });

  it('completes one of the logins in which the same code is entered at once, on three replicas', async () => {
    const { user, app } = await createPerson();
    const replicas = [service, await fixture.startReplica(), await fixture.startReplica()];
    const steps = [await reach({ user }), await reach({ user }), await reach({ user })];
    const code = app.codeAt(clock.read());
    const replies = await Promise.all(
      steps.map(({ browser, page }, at) => browser.at(replicas[at]).submit(page, STEP, { code })),
    );
    expect(replies.filter(({ location }) => location?.includes('authToken'))).toHaveLength(1);
    for (const replica of replicas.slice(1)) await replica.close();
  });

  it('takes ten recovery codes of ten browsers at once, each once', async () => {
    const { user, wallet } = await fixture.createWalletUser();
    const { app } = await setUpApp(fixture, user);
    const steps: { browser: LoginBrowser; page: LoginPage; code: string }[] = [];
    for (const code of app.recoveryCodes) {
      const asked = await fixture.askForMessage(wallet.address);
      steps.push({ browser: asked.browser, page: await asked.send(wallet.sign(asked.message)), code });
    }
    const enter = async ({ browser, page, code }: (typeof steps)[number]) =>
      browser.submit(await browser.submit(page, `${STEP}/recovery`), `${STEP}/recovery`, { code });
    const replies = await Promise.all(steps.map(enter));
    for (const [at, reply] of replies.entries()) {
      // Five at once: the others wait until right codes have given their permits back.
      const { heading } = reply.alert.includes('Too many') ? await enter(steps[at] as (typeof steps)[number]) : reply;
      expect(heading).toContain('Recovery codes left');
    }
    expect((await admin.getSecondFactor({ userId: user.id })).secondFactor).toMatchObject({ recoveryCodesLeft: 0 });
  });

  it('is limited to five wrong codes, of which the fifth is told', async () => {
    const { user, app } = await createPerson();
    const step = await reach({ user });
    const wrong = app.codeAt(clock.read(), 9);
    let { page } = step;
    for (let miss = 1; miss <= 5; miss++) page = await step.browser.submit(page, STEP, { code: wrong });
    page = await step.browser.submit(page, STEP, { code: app.codeAt(clock.read()) });
    expect(page.alert).toContain('Too many attempts');
    await expect
      .poll(() => fixture.mailbox.mails.filter(({ to, kind }) => to === user.email && kind === 'second factor notice'))
      .toHaveLength(2);
    // Recovery codes have a limit of their own.
    const form = await step.browser.submit(page, `${STEP}/recovery`);
    const left = await step.browser.submit(form, `${STEP}/recovery`, { code: app.recoveryCodes[0] ?? '' });
    expect(left.heading).toBe('Recovery codes left: 9');
  });
});

describe('a young app', () => {
  it('is neither asked nor counted', async () => {
    const { user, app } = await createPerson();
    await service.database.sql`update totp_secrets set counts_from = '2100-01-01' where user_id = ${user.id}`;
    const asked = await fixture.askForCode({ user });
    expect((await asked.enter(asked.code)).location).toContain('authToken');
    const of = await createTenant(service, { requiredAssurance: 'TWO_FACTORS' });
    const more = await fixture.askForCode({ user, of });
    expect(await more.enter(more.code)).toMatchObject({
      location: undefined,
      heading: expect.not.stringContaining('step'),
    });
    expect(app.recoveryCodes).toHaveLength(10);
  });

  it('that was asked before it became one completes nothing', async () => {
    const { user, app } = await createPerson();
    const step = await reach({ user });
    await service.database.sql`update totp_secrets set counts_from = '2100-01-01' where user_id = ${user.id}`;
    const [code = ''] = app.recoveryCodes;
    for (const [path, entered] of [
      [STEP, app.codeAt(clock.read())],
      [`${STEP}/recovery`, code],
    ] as const)
      expect(
        (await step.browser.post(path, { ...formOf(step.page, STEP).fields, code: entered })).location,
      ).toBeUndefined();
    expect(await fixture.isCompleted(step.login.loginIntentId)).toBe(false);
  });
});
