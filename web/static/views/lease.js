// One lease.
import { get } from '../api.js';
import { code, describe, el, fill, simulated } from '../dom.js';
import { span, usdc, when } from '../show.js';
import { extendForm, judgeForms } from './actions.js';
import { stateOf } from './leases.js';
import { logs } from './logs.js';
import { ports } from './ports.js';
import { stopButton } from './stop.js';
import { terminal } from './terminal.js';
import { use } from './use.js';

// phases say what a state means.
const phases = {
  awarded: 'A keeper has given the order to this machine, which brings the job up. Nothing is billed yet.', running: 'The machine serves the job, and every second is billed that it serves.',
  ended: 'It is over. What is owed is settled by receipts or by the keepers’ next report; the rest is free again.', failed: 'The machine did not serve it. The time that was not served is not paid.',
};

// inspections say what came of measuring the machine beside the job.
const inspections = {
  due: 'The machine will be measured once, at a random second.', spared: 'Not drawn: one lease in eight is measured, and none of simulated GPUs.', passed: 'The machine was measured beside the job, and passed.',
  failed: 'The machine did not pass, and the lease was ended.', undecided: 'It says nothing of the machine.', missed: 'The lease was over before it was measured.',
};

// proof is what the machine has proved before it got the job, and what was not covered.
const proof = (a) => a && [el('h2', {}, 'What the machine proved'),
  el('p', { role: 'status' }, a.state === 'passed' ? `It passed your policy “${a.policy}” on ${when(a.at)}, before it got the job.` : `It was refused by your policy “${a.policy}” on ${when(a.at)}, and from then on nothing was sent to it: ${a.why}`),
  describe(['Verified', sentences(a.verified)], ['Failed', sentences(a.failed)], ['Not covered', sentences(a.notCovered)], ['Evidence', code(a.evidenceHash)])];

const sentences = (list) => list.length > 0 && el('ul', {}, ...list.map((text) => el('li', {}, text)));

// reason is why a lease is over, with a link to the one that continues it.
async function reason(id, signal) {
  const w = await get(`/v1/why/${encodeURIComponent(id)}`, signal).catch(() => null);
  if (!w || ['awarded', 'running'].includes(w.reason)) return ''; // the history comes a little later
  const next = w.reason === 'moved' && w.leases[0];
  return [w.says, next && [' ', el('a', { href: `#/lease/${encodeURIComponent(next)}`, 'data-key': 'next' }, 'Go to it')]];
}

export async function lease({ root, argument, signal, every }) {
  const id = decodeURIComponent(argument);
  const body = el('section', { class: 'card', 'aria-label': 'Details' });
  const failure = el('div');
  const live = el('div');
  const acts = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Lease'), failure, el('div', { class: 'columns' }, el('div', {}, live, acts), body));
  let shown = '';
  let status = '';
  let acted = '';
  let why = '';
  const load = async (anew) => {
    let l;
    try {
      l = await get(`/v1/leases/${encodeURIComponent(id)}`, signal);
    } catch (err) {
      if (err.status !== 404 || !shown) throw err;
      fill(failure, el('p', { role: 'status' }, 'The lease is settled and closed: what is below was its last state. ', el('a', { href: `#/audit/${encodeURIComponent(id)}` }, 'Its history'), ' stays.'));
      return;
    }
    if (['ended', 'failed'].includes(l.status) && (!why || status !== l.status)) {
      why = await reason(id, signal);
      if (why) shown = '';
    }
    const now = JSON.stringify(l);
    if (now === shown && anew !== true) return;
    shown = now;
    if (status !== l.status) { // what is live changes with the state alone
      parts(l);
      status = l.status;
    }
    if (acted !== `${l.status} ${l.rating ?? ''}`) {
      fill(acts, l.status === 'running' && [el('h2', {}, 'More time'), extendForm(l, load)], l.status !== 'awarded' && judgeForms(l, load, signal));
      acted = `${l.status} ${l.rating ?? ''}`;
    }
    fill(body,
      describe(
        ['State', stateOf(l)], ['', phases[l.status]], ['Why', why], ['Detail', l.detail],
        ['GPUs', [`${l.gpus} × ${l.model ?? 'GPU'} `, l.simulated && simulated()]],
        ['Exit code', l.exitCode], ['Output', l.output], ['Inspection', l.inspection && inspections[l.inspection.state]], ['', l.inspection?.why],
        ['', l.inspection?.tops && `${l.inspection.tops} TOPS and ${l.inspection.gigabytesPerSecond} GB/s beside the job, ${when(l.inspection.at)}`]),
      el('div', { class: 'buttons' }, stopButton(l, failure, load), el('a', { href: `#/audit/${encodeURIComponent(l.address)}`, 'data-key': 'audit' }, 'Audit this lease')),
      proof(l.attestation), el('h2', {}, 'Money'),
      describe(
        ['Price', `${usdc(l.pricePerGpuHour)} per GPU-hour`], ['Price of the award', l.awardPricePerGpuHour && `${usdc(l.awardPricePerGpuHour)} per GPU-hour`],
        ['Cost so far, at most', usdc(l.costAtMost)], ['Paid', usdc(l.paid)], ['Fee in it', usdc(l.feeIncluded)], ['Still reserved', usdc(l.reserved)]),
      el('h2', {}, 'Time'),
      describe(
        ['Awarded', when(l.awardedAt)], ['Started', when(l.startedAt)], ['Money lasts until', when(l.fundedUntil)], ['Ended', when(l.endedAt)],
        ['Used', span(l.usedSeconds)], ['Paid', span(l.paidSeconds)], ['Receipts say', span(l.receiptSeconds)], ['Keepers confirm', span(l.verifiedSeconds)],
        ['Down', l.downtimeSeconds ? span(l.downtimeSeconds) : ''], ['Rating', l.rating && `${l.rating} of 5`]),
      el('h2', {}, 'Addresses'),
      describe(['Lease', code(l.address)], ['Order', code(l.order)], ['Node', el('a', { href: `#/machine/${encodeURIComponent(l.node)}`, 'data-key': 'node' }, l.node)], ['Customer', code(l.customer)], ['Snapshot', code(l.snapshot)]));
  };
  // parts are what is not drawn anew with every figure.
  let leave = new AbortController();
  signal.addEventListener('abort', () => leave.abort());
  const parts = (l) => {
    leave.abort();
    leave = new AbortController();
    const running = l.status === 'running';
    fill(live,
      running && [el('h2', {}, 'Now'), use(l.address, leave.signal), el('h2', {}, 'Ports'), ports(l.address, leave.signal)],
      l.status !== 'awarded' && [el('h2', {}, 'Output'), logs(l.address, leave.signal)],
      running && [el('h2', {}, 'Terminal'), el('p', { class: 'note' }, 'A shell in the container, where the lease is one of an image.'), terminal(l.address, leave.signal)]);
  };
  await load();
  every(3000, load);
}
