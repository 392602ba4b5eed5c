// The page with recovery codes: copies them where the browser can.
import { status } from '../../../login-page/scripts/page.js';

const copy = document.querySelector('#copy');
copy.hidden = navigator.clipboard === undefined;
copy.addEventListener('click', async () => {
  const codes = [...document.querySelectorAll('.recovery-codes li')].map(({ textContent }) => textContent);
  await navigator.clipboard.writeText(codes.join('\n'));
  status.textContent = copy.dataset.copied;
});
