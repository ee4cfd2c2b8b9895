// What can be done about a lease besides stopping it: more time by the server's session key; a rating and a dispute by the
// wallet.
import { ask, get } from '../api.js';
import { confirmed } from '../dialog.js';
import { choice, describe, el, field, fill } from '../dom.js';
import { amount, cost, micro, problem, span, usdc } from '../show.js';
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

// extend asks for more time. A request that got no answer is repeated with its key, with which it extends once.
export function extendForm(l, done) {
  const failure = el('div');
  const run = doing(failure);
  const minutes = el('input', { name: 'minutes', type: 'number', min: 1, max: 525600, value: 10, required: true });
  let pending = null; // one without an answer
  const form = el('form', { class: 'row' }, field('Minutes more', minutes), el('div', {}, el('button', {}, 'Extend')));
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    run(async () => {
      const seconds = Math.round(Number(minutes.value) * 60);
      const price = micro(l.pricePerGpuHour);
      const yes = await confirmed({
        title: 'Extend this lease?', yes: 'Extend', body: el('div', {}, describe(['Lease', el('code', {}, l.address)], ['Longer by', span(seconds)],
          ['Reserves about', price !== null && el('strong', {}, usdc(amount(cost(price, l.gpus, seconds))))]), el('p', {}, 'At the price of the lease. The server signs with its session key.')),
      });
      if (!yes) return;
      if (pending?.seconds !== seconds) pending = { key: newKey(), seconds };
      await ask('POST', `/v1/leases/${encodeURIComponent(l.address)}/extend`, { body: { seconds }, headers: { 'Idempotency-Key': pending.key } });
      pending = null;
      await done(true);
    });
  });
  return el('div', {}, form, failure);
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
  const rate = el('form', { class: 'row' }, field('Rating', stars), el('div', {}, el('button', {}, 'Rate')));
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
  const dispute = el('form', { class: 'tall' }, field('What is wrong', kind), field('Say and show it', text, 'Keepers read this text, pass it on and vote. Its sha256 goes on chain.'), el('div', { class: 'wide' }, el('button', {}, 'Dispute')));
  dispute.addEventListener('submit', (e) => {
    e.preventDefault();
    run(async () => {
      const complaint = text.value;
      if (!(await signed(await withWallet(), { dispute: { lease: l.address, kind: kind.value, text: complaint } }, { title: 'Dispute this lease?', signal }))) return;
      await deliver(l.address, complaint, said);
      await done(true);
    });
  });
  return el('div', {}, said, failure,
    l.status === 'ended' && !l.rating && [el('h2', {}, 'Rate'), rate],
    el('h2', {}, 'Dispute'), el('p', {}, 'A lease is disputed once, and a deposit of credits waits for the verdict of the keepers.'), dispute);
}

// deliver brings the text of a dispute to the keepers. What is on chain without its text cannot be judged, so that it can be
// tried again.
async function deliver(lease, text, said) {
  try {
    const { body } = await ask('POST', `/page/leases/${encodeURIComponent(lease)}/complaint`, { body: { text } });
    if (body.reached === 0) throw new Error('no keeper took the text');
    fill(said, el('p', {}, `The lease is disputed. The text has reached ${body.reached} of ${body.keepers} keepers, who pass it on.`));
  } catch (err) {
    fill(said, problem(err.body ? err : { body: { title: 'Not delivered', detail: err.message, nextStep: 'keepers cannot judge what they cannot read: bring it again' } }),
      el('button', { type: 'button', on: { click: () => deliver(lease, text, said) } }, 'Bring the text again'));
  }
}
