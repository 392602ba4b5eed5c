/** An operator without a mouse: presses keys, and knows of a page what a screen reader says of its focus. */
import type { CDPSession, Page } from 'playwright-core';

interface Focus {
  readonly role: string;
  readonly name: string;
  /** Whether one sees where the focus is. */
  readonly isSeen: boolean;
}

/** More than any page has stops. */
const MAX_STOPS = 80;

export class Keyboard {
  /** Keys that were pressed, apart from texts, which are pasted. */
  pressed = 0;
  /** Stops at which nobody sees the focus. */
  readonly unseen: string[] = [];
  readonly #page: Page;
  readonly #session: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.#page = page;
    this.#session = session;
  }

  static async of(page: Page): Promise<Keyboard> {
    return new Keyboard(page, await page.context().newCDPSession(page));
  }

  async press(key: string): Promise<void> {
    await this.#page.keyboard.press(key);
    this.pressed++;
  }

  /** Replaces the text of the field that has the focus. */
  async paste(text: string): Promise<void> {
    await this.press('Control+a');
    await this.#page.keyboard.insertText(text);
    this.pressed++;
  }

  /** Presses Tab until the focus has the role and the name. Returns the number of presses. */
  async tabTo(role: string, name: string): Promise<number> {
    const passed: string[] = [];
    while (passed.length < MAX_STOPS) {
      await this.press('Tab');
      const focus = await this.readFocus();
      passed.push(`${focus.role} ${focus.name}`);
      if (!focus.isSeen) this.unseen.push(`${focus.role} ${focus.name}`);
      if (focus.role === role && focus.name === name) return passed.length;
    }
    throw new Error(`No ${role} ${name} among ${passed.join(', ')}`);
  }

  /** Presses Enter, and waits for the page with the heading. */
  async enter(heading: string): Promise<void> {
    await this.press('Enter');
    await this.#page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
    await this.#page.waitForLoadState();
  }

  async readFocus(): Promise<Focus> {
    let node = await this.#readNode();
    // Chromium describes an element only after its layout, which a frame of the page may change.
    for (let frames = 0; node?.ignored && frames < 10; frames++) {
      await this.#page.evaluate('new Promise(requestAnimationFrame)');
      node = await this.#readNode();
    }
    const isSeen = await this.#page.evaluate<boolean>(`(() => {
      const focused = document.activeElement;
      if (focused === document.body) return true;
      const { top, bottom, width } = focused.getBoundingClientRect();
      const { outlineStyle, boxShadow } = getComputedStyle(focused);
      return bottom > 0 && top < innerHeight && width > 0 && (outlineStyle !== 'none' || boxShadow !== 'none');
    })()`);
    return { role: String(node?.role?.value ?? ''), name: String(node?.name?.value ?? ''), isSeen };
  }

  async #readNode() {
    const { result } = await this.#session.send('Runtime.evaluate', { expression: 'document.activeElement' });
    const { objectId = '' } = result;
    const described = await this.#session.send('Accessibility.getPartialAXTree', { objectId, fetchRelatives: false });
    return described.nodes[0];
  }
}
