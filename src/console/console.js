// Keeps the operator signed in while the page is looked at, for as long as the server allows.
const RENEWAL_MS = 4 * 60_000;

function renew() {
  if (document.visibilityState === 'visible') fetch('/renew', { method: 'POST', redirect: 'manual' }).catch(() => {});
}

if (document.querySelector('.side')) {
  setInterval(renew, RENEWAL_MS);
  document.addEventListener('visibilitychange', renew);
}

// What went wrong is read out, and found by the keyboard.
document.querySelector('[role="alert"]')?.focus();

// The server would say so only after the whole file was sent.
for (const input of document.querySelectorAll('input[data-max-bytes]')) {
  input.addEventListener('change', () => {
    const isTooLarge = input.files[0]?.size > Number(input.dataset.maxBytes);
    input.setCustomValidity(isTooLarge ? 'This file is too large.' : '');
    input.reportValidity();
  });
}

for (const button of document.querySelectorAll('button[data-copy]')) {
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = 'Copied';
  });
}
