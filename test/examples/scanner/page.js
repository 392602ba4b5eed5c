/** The page: its camera and its field for codes, and what becomes of each scan. */

import { signIn } from './calls.js';
import { canReadCodes, startCamera } from './camera.js';
import { Scanner, toVerdict } from './scanner.js';
import { describeScan, describeTime, describeVerdict } from './texts.js';

const SHOWN_SCANS = 20;

const find = (id) => document.getElementById(id);
const eventId = new URLSearchParams(location.search).get('event');
const scanner = new Scanner(eventId ?? '');
let endCamera;
/** Only the newest scan is on the screen. */
let shownScanId;

function showVerdict({ scanId, attendeeId, label, isFinal, ...verdict }) {
  if (isFinal && shownScanId !== scanId && shownScanId !== undefined) return;
  shownScanId = scanId;
  const { title, details } = describeVerdict(verdict);
  const kind = verdict.letsIn ? 'in' : verdict.reason === 'ALREADY_CHECKED_IN' ? 'warn' : 'out';
  find('verdict').className = isFinal ? kind : 'asking';
  find('verdict-title').textContent = isFinal ? title : 'Wait …';
  find('verdict-who').textContent = label || attendeeId;
  find('verdict-details').textContent = isFinal ? details : `By the list on this device: ${title} ${details}`;
  if (isFinal && !verdict.letsIn) navigator.vibrate?.([120, 80, 120]);
}

/** What readers add around a code: white space, control characters, and marks such as a byte order mark. */
const AROUND = /^[\s\p{Cc}\p{Cf}]+|[\s\p{Cc}\p{Cf}]+$/gu;

function scan(code) {
  const attendeeId = code.replace(AROUND, '');
  if (!attendeeId) return;
  shownScanId = undefined;
  void scanner.scan(attendeeId, find('gate').value.trim(), showVerdict);
}

async function showState() {
  const { event, counts, waiting, admitted, isOnline, isCopied, refusal, problem } = scanner;
  find('name').textContent = event?.name ?? event?.eventId ?? eventId ?? 'No event';
  document.title = `${find('name').textContent} · Scanner`;
  const isOffline = refusal ? 'Not signed in' : 'Offline: the list on this device decides';
  const state = isOnline ? 'Online' : isOffline;
  find('online').textContent = problem ? `This device fails, and tries again: ${problem}` : state;
  find('online').className = isOnline && !problem ? 'tag in' : 'tag warn';
  find('waiting').textContent = `${waiting} to upload`;
  find('waiting').className = waiting > 0 ? 'tag warn' : 'tag';
  const places = event?.capacity ? ` of ${event.capacity}` : '';
  find('inside').textContent = counts ? `${counts.checkedIn + admitted}${places} inside` : '';
  find('copy').textContent = isCopied ? '' : 'The list is not on this device yet';
  find('deleted').hidden = !event?.isDeleted;
  find('sign-in').hidden = !refusal && Boolean(eventId);
  find('sign-in-why').textContent = refusal ?? '';
  find('forget').disabled = waiting > 0;
  // Those that are shown stay if the device cannot read them.
  const scans = await scanner.readLastScans(SHOWN_SCANS).catch(() => undefined);
  if (scans) find('scans').replaceChildren(...scans.map(renderScan));
}

function renderScan(scan) {
  const { attendeeId, label, occurredAt, result } = scan;
  const item = document.createElement('li');
  const cells = [
    ['bdi', label || attendeeId],
    ['time', describeTime(occurredAt)],
    ['span', describeScan(scan, result && toVerdict(result))],
  ];
  for (const [name, text] of cells) {
    const cell = document.createElement(name);
    cell.textContent = text;
    cell.dir = 'auto';
    item.append(cell);
  }
  return item;
}

// Readers on a cable or by Bluetooth type the code and Enter, wherever the focus is.
addEventListener('keydown', ({ target, key }) => {
  if (key.length === 1 && !target.matches('input, button, summary')) find('attendee').focus();
});
find('scan').onsubmit = (submit) => {
  submit.preventDefault();
  const { value } = find('attendee');
  find('attendee').value = '';
  scan(value);
};

find('gate').value = localStorage.getItem('gate') ?? '';
find('gate').onchange = () => localStorage.setItem('gate', find('gate').value.trim());

find('no-camera').hidden = canReadCodes;
find('camera').hidden = !canReadCodes;
function showCamera(problem = '') {
  find('camera-problem').textContent = problem;
  find('video').hidden = !endCamera;
  find('camera').textContent = endCamera ? 'Close the camera' : 'Open the camera';
}
function stopCamera(problem) {
  endCamera = void endCamera?.();
  showCamera(problem);
}
find('camera').onclick = async () => {
  if (endCamera) return stopCamera();
  try {
    endCamera = await startCamera(find('video'), scan, stopCamera);
    showCamera();
  } catch (error) {
    showCamera(`The camera does not open: ${error.message}`);
  }
};

async function useCode(code) {
  const isRight = await signIn(code).catch(() => undefined);
  find('sign-in-why').textContent = isRight ? '' : isRight === undefined ? 'No network' : 'Wrong code';
  if (isRight) await scanner.sync();
}
find('sign-in').onsubmit = (submit) => {
  submit.preventDefault();
  const typed = find('event').value.trim();
  if (typed && typed !== eventId) location.assign(`/?${new URLSearchParams({ event: typed })}#${find('code').value}`);
  else void useCode(find('code').value.trim());
};
find('event').value = eventId ?? '';

find('forget').onclick = async () => {
  await scanner.forget();
  location.reload();
};

scanner.addEventListener('change', showState);
await navigator.serviceWorker?.register('/worker.js').catch(console.warn);
// Without it, a browser that needs space may drop the queue.
void navigator.storage?.persist?.();
const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, '', location.pathname + location.search);
  await useCode(code);
}
if (eventId) await scanner.start();
else await showState();
