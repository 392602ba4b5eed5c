// Functions to sign in with a passkey and to create one. The forms hold the texts and options.
import { fail, setBusy } from '../../../login-page/scripts/page.js';

// A person takes longer to cancel. After a faster failure, the browser has shown nothing.
const QUICK_MS = 300;
// Browsers allow one request at a time.
let controller;

// Buffers are encoded here because extensions of password managers implement toJSON() and getPublicKey() wrongly.
export function toText(buffer) {
  const binary = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

export function toBytes(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
}

export function renewSignal() {
  controller?.abort();
  controller = new AbortController();
  return controller.signal;
}

export function send(to, { id, rawId, type }, response) {
  to.elements.credential.value = JSON.stringify({ id, rawId: toText(rawId), type, response });
  setBusy(to.dataset.sending);
  to.submit();
}

export function useOnClick(target, act, onError) {
  target.hidden = false;
  target.addEventListener('submit', async (event) => {
    event.preventDefault();
    const clickedAt = performance.now();
    setBusy(target.dataset.waiting);
    await act().catch((error) => {
      const isQuick = performance.now() - clickedAt < QUICK_MS;
      if (!onError?.(error)) fail(isQuick ? target.dataset.unavailable : target.dataset.cancelled);
    });
  });
}
