// Asks the wallet for a signature. The form has the texts.
import { fail, setBusy } from './page.js';

const form = document.querySelector('#wallet');
const texts = form.dataset;

async function signIn() {
  const provider = window.ethereum;
  if (!provider) return fail(texts.missing);
  try {
    setBusy(texts.connecting);
    const [address] = await provider.request({ method: 'eth_requestAccounts' });
    form.elements.address.value = address;
    const body = new URLSearchParams(new FormData(form));
    const reply = await fetch(texts.challenge, { method: 'POST', body });
    const { message, error, redirectUrl } = await reply.json().catch(() => ({ error: texts.unavailable }));
    if (redirectUrl) return location.assign(redirectUrl);
    if (error) return fail(error);
    setBusy(texts.signing);
    form.elements.signature.value = await provider.request({
      method: 'personal_sign',
      params: [toHex(message), address],
    });
    setBusy(texts.sending);
    form.submit();
  } catch (error) {
    // EIP-1193: the user rejected the request.
    fail(error?.code === 4001 ? texts.declined : texts.failed);
  }
}

function toHex(text) {
  return `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

form.hidden = false;
form.addEventListener('submit', (event) => {
  event.preventDefault();
  signIn();
});
