// Signs in with a passkey, by autofill or by the button, and makes new ones. The forms have texts and options.
import { fail, setBusy } from './page.js';

const form = document.querySelector('#passkey');
const creation = document.querySelector('#new-passkey');
const list = document.querySelector('.passkeys');
// What fails faster than a person can act, no person has seen.
const QUICK_MS = 300;
// Browsers allow one request at a time.
let controller;

// The script reads each buffer by itself: extensions of password managers get toJSON() and getPublicKey() wrong.
function toText(buffer) {
  const binary = Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join('');
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function toBytes(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0));
}

function renewSignal() {
  controller?.abort();
  controller = new AbortController();
  return controller.signal;
}

function send(to, { id, rawId, type }, response) {
  to.elements.credential.value = JSON.stringify({ id, rawId: toText(rawId), type, response });
  setBusy(to.dataset.sending);
  to.submit();
}

async function signIn(options) {
  const { challenge, rpId } = form.dataset;
  const publicKey = { challenge: toBytes(challenge), rpId, userVerification: 'preferred' };
  const credential = await navigator.credentials.get({ publicKey, signal: renewSignal(), ...options });
  const { clientDataJSON, authenticatorData, signature, userHandle } = credential.response;
  remember(credential.id);
  send(form, credential, {
    clientDataJSON: toText(clientDataJSON),
    authenticatorData: toText(authenticatorData),
    signature: toText(signature),
    userHandle: userHandle ? toText(userHandle) : '',
  });
}

// Waits in the list of suggestions of the e-mail field, and shows nothing if it fails.
async function fillIn() {
  if (!document.querySelector('[autocomplete~=webauthn]')) return;
  if (await PublicKeyCredential.isConditionalMediationAvailable?.()) await signIn({ mediation: 'conditional' });
}

async function create() {
  const { challenge, user, excludeCredentials, ...options } = JSON.parse(creation.dataset.options);
  const publicKey = {
    ...options,
    challenge: toBytes(challenge),
    user: { ...user, id: toBytes(user.id) },
    excludeCredentials: excludeCredentials.map((known) => ({ ...known, id: toBytes(known.id) })),
  };
  const credential = await navigator.credentials.create({ publicKey, signal: renewSignal() });
  const { clientDataJSON, attestationObject } = credential.response;
  send(creation, credential, {
    clientDataJSON: toText(clientDataJSON),
    attestationObject: toText(attestationObject),
    transports: credential.response.getTransports?.() ?? [],
  });
}

function useOnClick(target, act, onError) {
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

// For the next page, which learns whether the server knows the passkey.
function remember(id) {
  try {
    sessionStorage.setItem('usher-passkey', id);
  } catch {}
}

function forgetUnknown() {
  try {
    const credentialId = sessionStorage.getItem('usher-passkey');
    if (credentialId)
      PublicKeyCredential.signalUnknownCredential?.({ rpId: form.dataset.rpId, credentialId }).catch(() => {});
  } catch {}
}

if (window.PublicKeyCredential) {
  if (form) {
    useOnClick(form, () => signIn());
    if (form.dataset.problem === 'unknown') forgetUnknown();
    // Not after a refusal: a browser that answers without a person would send the same passkey for ever.
    if (!form.dataset.problem) fillIn().catch(() => {});
  }
  if (creation) {
    // The device has one of this person already.
    useOnClick(creation, create, (error) => {
      if (error.name !== 'InvalidStateError') return false;
      const later = document.querySelector('#later');
      if (later) later.submit();
      else fail(creation.dataset.exists);
      return true;
    });
  }
  if (list) {
    const { rpId, userId, known } = list.dataset;
    const ids = { rpId, userId, allAcceptedCredentialIds: JSON.parse(known) };
    PublicKeyCredential.signalAllAcceptedCredentials?.(ids).catch(() => {});
  }
  PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable?.()
    .then((isAvailable) => {
      for (const field of document.querySelectorAll('input[name=passkey]')) field.value = isAvailable ? '1' : '';
    })
    .catch(() => {});
}
