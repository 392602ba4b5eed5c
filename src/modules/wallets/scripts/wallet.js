// Offers the wallets of the browser, and asks the chosen one for a signature. The form holds the texts.
import { fail, setBusy } from '../../../login-page/scripts/page.js';

const form = document.querySelector('#wallet');
const texts = form.dataset;
const firstButton = form.querySelector('button');
const blankButton = firstButton.cloneNode(true);
const missing = document.querySelector('#no-wallet');

// Any script or extension may announce wallets, and any number of them.
const MAX_WALLETS = 10;
const MAX_NAME = 40;
const MAX_ICON = 65_536;
const ICON = /^data:image\/(png|jpeg|webp|svg\+xml)[;,]/i;

// The wallet provider of each button.
const providers = new Map();
const uuids = new Set();

// EIP-6963. A getter of the announcement may throw.
function onAnnouncement({ detail }) {
  try {
    const { info, provider } = detail;
    const { uuid, name, icon } = info;
    if (typeof uuid !== 'string' || uuids.has(uuid) || typeof provider.request !== 'function') return;
    if (uuids.add(uuid).size >= MAX_WALLETS) removeEventListener('eip6963:announceProvider', onAnnouncement);
    offer(provider, toLabel(name), icon);
  } catch {}
}

// The first wallet gets the button that was there for any wallet, because that may have the focus.
function offer(provider, label, icon) {
  const button = providers.size === 0 ? firstButton : form.appendChild(blankButton.cloneNode(true));
  button.disabled = firstButton.disabled;
  providers.set(button, provider);
  button.lastChild.data = label;
  showForm();
  if (typeof icon !== 'string' || icon.length > MAX_ICON || !ICON.test(icon)) return;
  const image = new Image(20, 20);
  image.alt = '';
  image.src = icon;
  image.decode().then(
    () => button.firstChild.replaceWith(image),
    () => {},
  );
}

// Invisible characters could make a wallet look like another one, or change the direction of the text around its name.
function toLabel(name) {
  const visible = typeof name === 'string' ? name.slice(0, 1_000).replace(/\p{C}/gu, '').trim() : '';
  if (!visible) return blankButton.lastChild.data;
  const characters = Array.from(visible);
  const shown = characters.length > MAX_NAME ? `${characters.slice(0, MAX_NAME - 1).join('')}…` : visible;
  return texts.named.replace('{wallet}', () => shown);
}

function showForm() {
  form.hidden = false;
  if (missing) missing.hidden = true;
}

async function signIn(provider) {
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
    const signature = await provider.request({ method: 'personal_sign', params: [toHex(message), address] });
    if (String(signature).length > Number(texts.longest)) return fail(texts.unsupported);
    form.elements.signature.value = signature;
    setBusy(texts.sending);
    form.submit();
  } catch (error) {
    // EIP-1193: the person declined. EIP-1474: the wallet still shows another request.
    fail({ 4001: texts.declined, '-32002': texts.pending }[error?.code] ?? texts.failed);
  }
}

function toHex(text) {
  return `0x${Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  signIn(providers.get(event.submitter) ?? window.ethereum);
});
addEventListener('eip6963:announceProvider', onAnnouncement);
// Wallets answer at once, or when they are ready.
dispatchEvent(new Event('eip6963:requestProvider'));
// Some phones inject the provider later.
addEventListener('ethereum#initialized', showForm);
if (window.ethereum) showForm();
if (missing) missing.hidden = !form.hidden;
