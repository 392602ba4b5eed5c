// Adds a busy state to the forms, and asks wallets for a signature.
const status = document.querySelector('[role=status]');
const alert = document.querySelector('[role=alert]');
const wallet = document.querySelector('#wallet');

function setBusy(text) {
  status.textContent = text;
  for (const button of document.querySelectorAll('button')) button.disabled = text !== '';
}

function fail(text) {
  setBusy('');
  alert.textContent = text;
  alert.focus();
}

async function signIn() {
  const provider = window.ethereum;
  if (!provider) return fail('There is no wallet in this browser. Install one, or sign in with your e-mail address.');
  try {
    setBusy('Waiting for your wallet…');
    const [address] = await provider.request({ method: 'eth_requestAccounts' });
    wallet.elements.address.value = address;
    const body = new URLSearchParams(new FormData(wallet));
    const reply = await fetch(wallet.dataset.challenge, { method: 'POST', body });
    const { message, error, redirectUrl } = await reply
      .json()
      .catch(() => ({ error: 'We cannot sign you in right now. Load this page again.' }));
    if (redirectUrl) return location.assign(redirectUrl);
    if (error) return fail(error);
    setBusy('Waiting for your signature…');
    wallet.elements.signature.value = await provider.request({
      method: 'personal_sign',
      params: [toHex(message), address],
    });
    setBusy('Signing in…');
    wallet.submit();
  } catch (error) {
    // EIP-1193: the user rejected the request.
    fail(
      error?.code === 4001
        ? 'You declined in your wallet. Nothing was signed.'
        : 'Your wallet did not answer as expected. Try again.',
    );
  }
}

function toHex(text) {
  return `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

if (wallet) {
  wallet.hidden = false;
  wallet.addEventListener('submit', (event) => {
    event.preventDefault();
    signIn();
  });
}
for (const form of document.querySelectorAll('form:not(#wallet)')) {
  // Later, because a button that is disabled now would be missing in the form.
  form.addEventListener('submit', () => setTimeout(setBusy, 0, form.dataset.busy));
}
// A page that is restored from the history must not be busy.
window.addEventListener('pageshow', (event) => event.persisted && setBusy(''));
if (alert?.textContent) alert.focus();
