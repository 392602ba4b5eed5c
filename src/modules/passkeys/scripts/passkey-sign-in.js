// Signs in with a passkey, by autofill or by the button.
import { renewSignal, send, toBytes, toText, useOnClick } from './passkey.js';

const form = document.querySelector('#passkey');

async function signIn(options) {
  const { challenge, rpId, verification = 'preferred' } = form.dataset;
  const publicKey = { challenge: toBytes(challenge), rpId, userVerification: verification };
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

// Offers passkeys among the suggestions of the e-mail field. A failure shows nothing.
async function fillIn() {
  if (!document.querySelector('[autocomplete~=webauthn]')) return;
  if (await PublicKeyCredential.isConditionalMediationAvailable?.()) await signIn({ mediation: 'conditional' });
}

// Keeps the ID for the next page, which learns whether the server knows the passkey.
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

if (form && window.PublicKeyCredential) {
  useOnClick(form, () => signIn());
  if (form.dataset.problem === 'unknown') forgetUnknown();
  // Not after a refusal: a browser that answers without a person would send the refused passkey again and again.
  if (!form.dataset.problem) fillIn().catch(() => {});
}
