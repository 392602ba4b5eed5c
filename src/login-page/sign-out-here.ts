/** Signs the people of this browser out of Usher's pages. Applications' sessions live on. */
import { cutOffBrowser } from '../domain/sessions/browser-cutoffs.ts';
import type { BrowserSignIn, OwnBrowser } from './browser-sign-in.ts';

interface InOwnBrowser extends OwnBrowser {
  readonly parts: { readonly browserSignIns: readonly BrowserSignIn[] };
}

/** Returns the IDs of the users whom the cookies of this browser sign in. */
export async function findSignedInHere({ parts, ...own }: InOwnBrowser): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const signIn of parts.browserSignIns) {
    const userId = await signIn.findUserId(own);
    if (userId !== undefined) found.add(userId);
  }
  return [...found];
}

/** Ends every sign-in of this browser to Usher's pages. Without any, nothing is stored. */
export async function signOutHere({ parts, ...own }: InOwnBrowser): Promise<void> {
  const { browser, call } = own;
  const done = new Set<string>();
  const cutOff = async (userId: string) => {
    if (done.has(userId)) return;
    await cutOffBrowser(call, { userId, browserDigest: browser.digest });
    done.add(userId);
  };
  for (const signIn of parts.browserSignIns) await signIn.end(own, { cutOff });
}

/** Does the same for one user, whose sign-in in this browser an application has proved. */
export async function signUserOutHere({ parts, ...own }: InOwnBrowser, userId: string): Promise<void> {
  for (const signIn of parts.browserSignIns) await signIn.end(own, { userId });
  await cutOffBrowser(own.call, { userId, browserDigest: own.browser.digest });
}
