// The page for a code: submits a code that is pasted or filled in, and counts down until the code may be sent again.
import { status } from './page.js';

const code = document.querySelector('#code');
let isSubmitted = false;

code.addEventListener('input', ({ data, inputType }) => {
  // Typed digits never submit, because a typing error would cost an attempt. Pasted text has more than one character.
  const isTyped = data?.length === 1 || /^(delete|history|insertComposition)/.test(inputType);
  // Autofill emits two events.
  if (isTyped || isSubmitted) return;
  const joined = code.value.normalize('NFKC').replace(/[\s\p{Pd}\p{Cf}\u2212]/gu, '');
  const runs = joined.match(/\p{Nd}+/gu)?.filter((run) => [...run].length === Number(code.dataset.digits));
  if (new Set(runs).size !== 1) return;
  isSubmitted = true;
  code.value = runs[0];
  code.form.requestSubmit();
});

const wait = document.querySelector('#wait');
if (wait) {
  // The history keeps the instant, so that a reload does not restart the countdown.
  const repeatAt = history.state?.repeatAt ?? Date.now() + wait.dataset.seconds * 1_000;
  history.replaceState({ repeatAt }, '');
  countDown(repeatAt);
}

function countDown(repeatAt) {
  const seconds = Math.ceil((repeatAt - Date.now()) / 1_000);
  const button = wait.closest('form').querySelector('button');
  button.disabled = seconds > 0;
  wait.hidden = seconds <= 0;
  if (seconds > 0) {
    wait.querySelector('bdi').textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
    setTimeout(countDown, 1_000, repeatAt);
  } else if (!status.textContent) {
    status.textContent = wait.dataset.ready;
  }
}
