// The history of a lease, rebuilt by the server from its transactions: what happened, whether it adds up, and where to look.
import { get } from '../api.js';
import { code, describe, el, figure, fill } from '../dom.js';
import { plural, problem, span, usdc } from '../show.js';
import { lookup } from './lookup.js';
import { steps, verdict } from './steps.js';

export async function audit({ root, argument, signal }) {
  const id = decodeURIComponent(argument);
  const body = el('div');
  const form = lookup({ view: 'audit', name: 'lease', value: id, label: 'Lease', note: 'Of any customer, also one that is closed.', verb: 'Audit' });
  root.append(el('h1', { tabindex: -1 }, 'Audit'), el('p', {}, 'The server reads the transactions of a lease and checks every amount, signature and proof again. It trusts no keeper for it.'), form, body);
  if (!id) return;
  fill(body, el('p', { role: 'status' }, 'Reading the history from the cluster.'));
  let a;
  try {
    a = await get(`/v1/audit/${encodeURIComponent(id)}`, signal);
  } catch (err) {
    if (!signal.aborted) fill(body, problem(err));
    return;
  }
  fill(body,
    verdict(a.outcome),
    el('div', { class: 'figures' }, figure('Paid for the time', usdc(a.paid)), figure('To the provider', usdc(a.provider)), figure('Fee', usdc(a.fee)), figure('Came back', usdc(a.refunded))),
    a.outcome !== 'unknown' && el('p', {}, `${span(a.paidSeconds)} × ${plural(a.gpus, 'GPU')} × ${a.pricePerGpuHour} USDC per GPU-hour = ${a.paid} USDC = ${a.provider} for the provider + ${a.fee} fee (${(a.feeBps / 100).toFixed(2)} %).`),
    steps(a.steps, `From the first to the last${a.lives > 1 ? `; this address was a lease ${a.lives} times, the last one is shown` : ''}${a.open ? '; the lease is not closed yet' : ''}.`),
    describe(['Proofs of reports', a.verifiedLeaves], ['Order', code(a.order)], ['Node', el('a', { href: `#/machine/${encodeURIComponent(a.node)}` }, a.node)], ['Customer', code(a.customer)], ['Look it up at', code(a.explorer)]),
    el('p', { class: 'note' }, 'The same without this server: ', code(`gantry audit ${a.lease}`), '.'));
}
