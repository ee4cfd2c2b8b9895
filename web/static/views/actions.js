// What can be done about a lease besides stopping it: more time by the server's session key; a rating and a dispute by the
// wallet.
import { ask, get } from '../api.js';
import { confirmed } from '../dialog.js';
import { choice, describe, el, field, fill, icon } from '../dom.js';
import { toast } from '../parts.js';
import { amount, cost, exact, micro, problem, span } from '../show.js';
import { signed } from '../sign.js';
import { current } from '../wallet.js';
import { newKey } from './pending.js';

// doing runs one thing at a time, and shows what goes wrong.
function doing(failure) {
  let busy = false;
  return async (f) => {
    if (busy) return;
    busy = true;
    failure.replaceChildren();
    try {
      await f();
    } catch (err) {
      if (err.name !== 'AbortError') failure.replaceChildren(problem(err, 'Not done'));
    }
    busy = false;
  };
}

// pending are extensions without an answer: they are repeated with their keys, with which they extend once.
const pending = new Map();

// extendButton asks for more time.
export function extendButton(l, failure, done) {
  const run = doing(failure);
  return el('button', { type: 'button', class: 'btn', 'data-key': 'extend', on: { click: () => run(async () => {
    const minutes = el('input', { name: 'minutes', type: 'number', min: 1, max: 525600, value: 10, required: true, 'data-first': true });
    const price = micro(l.pricePerGpuHour);
    const sum = el('strong');
    const seconds = () => Math.round(Number(minutes.value) * 60);
    const draw = () => fill(sum, price !== null && seconds() > 0 ? exact(amount(cost(price, l.gpus, seconds()))) : '–');
    minutes.addEventListener('input', draw);
    draw();
    const yes = await confirmed({ title: 'Extend this lease?', yes: 'Extend', body: el('div', { class: 'stack-12' }, field('Minutes more', minutes), describe(['Reserves about', sum]), el('p', { class: 't3 small' }, 'At the price of the lease. The server signs with its session key.')) });
    if (!yes) return;
    if (pending.get(l.address)?.seconds !== seconds()) pending.set(l.address, { key: newKey(), seconds: seconds() });
    await ask('POST', `/v1/leases/${encodeURIComponent(l.address)}/extend`, { body: { seconds: seconds() }, headers: { 'Idempotency-Key': pending.get(l.address).key } });
    pending.delete(l.address);
    toast(`Extended by ${span(seconds())}.`);
    await done(true);
  }) } }, icon('plus', 's14'), 'Extend');
}

// withWallet is the wallet that is connected and is the customer's.
async function withWallet() {
  const about = await get('/page/about');
  const who = await current(about.chain);
  if (!who) throw new Error('no wallet is connected: connect it under Wallet');
  return who;
}

// judgeForms rate and dispute a lease.
export function judgeForms(l, done, signal) {
  const failure = el('div');
  const said = el('div', { role: 'status' });
  const run = doing(failure);
  const stars = choice('stars', [['5', '5: as it should be'], ['4', '4'], ['3', '3'], ['2', '2'], ['1', '1: of no use']]);
  const rate = el('form', { class: 'row' }, field('Rating', stars), el('div', {}, el('button', { class: 'btn' }, 'Rate')));
  rate.addEventListener('submit', (e) => {
    e.preventDefault();
    run(async () => {
      if (await signed(await withWallet(), { rate: { lease: l.address, stars: Number(stars.value) } }, { title: 'Rate this lease?', signal })) {
        fill(said, el('p', {}, `The lease is rated with ${stars.value} of 5.`));
        await done(true);
      }
    });
  });
  const kind = choice('kind', [['not-delivered', 'the job did not run as ordered'], ['bad-output', 'it ran, and its output is wrong']]);
  const text = el('textarea', { name: 'complaint', rows: 4, required: true, maxlength: 60000 });
  const dispute = el('form', { class: 'plain' }, field('What is wrong', kind), field('Say and show it', text, 'Keepers read this text, pass it on and vote. Its sha256 goes on chain.'), el('div', { class: 'wide' }, el('button', { class: 'btn' }, 'Dispute')));
  dispute.addEventListener('submit', (e) => {
    e.preventDefault();
    run(async () => {
      const complaint = text.value;
      if (!(await signed(await withWallet(), { dispute: { lease: l.address, kind: kind.value, text: complaint } }, { title: 'Dispute this lease?', signal }))) return;
      await deliver(l.address, complaint, said);
      await done(true);
    });
  });
  return el('div', { class: 'stack-16' }, said, failure,
    l.status === 'ended' && !l.rating && [el('h3', {}, 'Rate'), rate],
    el('h3', {}, 'Dispute'), el('p', {}, 'A lease is disputed once, and a deposit of credits waits for the verdict of the keepers.'), dispute);
}

// deliver brings the text of a dispute to the keepers. What is on chain without its text cannot be judged, so that it can be
// tried again.
async function deliver(lease, text, said) {
  try {
    const { body } = await ask('POST', `/page/leases/${encodeURIComponent(lease)}/complaint`, { body: { text } });
    if (body.reached === 0) throw new Error('no keeper took the text');
    fill(said, el('p', {}, `The lease is disputed. The text has reached ${body.reached} of ${body.keepers} keepers, who pass it on.`));
  } catch (err) {
    fill(said, problem(err.body ? err : { body: { title: 'Not delivered', detail: err.message, nextStep: 'keepers cannot judge what they cannot read: resend it' } }),
      el('button', { type: 'button', class: 'btn', on: { click: () => deliver(lease, text, said) } }, 'Resend the complaint'));
  }
}
