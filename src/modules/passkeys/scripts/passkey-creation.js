// Creates a new passkey, and signals to the device which passkeys the server knows.
import { fail } from '../../../login-page/scripts/page.js';
import { renewSignal, send, toBytes, toText, useOnClick } from './passkey.js';

const creation = document.querySelector('#new-passkey');
const list = document.querySelector('.passkeys');

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

if (creation && window.PublicKeyCredential) {
  // InvalidStateError: the device already has a passkey of this person.
  useOnClick(creation, create, (error) => {
    if (error.name !== 'InvalidStateError') return false;
    const later = document.querySelector('#later');
    if (later) later.submit();
    else fail(creation.dataset.exists);
    return true;
  });
}
if (list && window.PublicKeyCredential) {
  const { rpId, userId, known } = list.dataset;
  const ids = { rpId, userId, allAcceptedCredentialIds: JSON.parse(known) };
  PublicKeyCredential.signalAllAcceptedCredentials?.(ids).catch(() => {});
}
