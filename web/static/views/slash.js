// The history of a slash, rebuilt by the server from its transactions.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { address, copyField, inCard, stats } from '../parts.js';
import { problem } from '../show.js';
import { lookup } from './lookup.js';
import { steps, verdict } from './steps.js';

function one(s) {
  return el('article', { class: 'gap' }, verdict(s.outcome, { text: s.proof ?? `Fault in period ${s.period}`, steps: s.steps }),
    stats('Slash', ['State', s.state], ['At stake', [s.amount, el('small', {}, ' GNT')]], ['To those it harmed', [s.customer, el('small', {}, ' GNT')]], ['Finder', [s.finder, el('small', {}, ' GNT')]], ['Burned', [s.burned, el('small', {}, ' GNT')]]),
    el('div', { class: 'lease' }, steps(s.steps), el('aside', { class: 'stack-16', 'aria-label': 'Who' }, inCard({ name: 'Who', level: 'h3' }, el('dl', { class: 'kv' }, [
      ['Fault', s.fault && address(s.fault, 'fault')], ['Keeper', s.keeper && address(s.keeper, 'keeper')], ['Machine', s.node && address(s.node, 'machine', { href: `#/machine/${encodeURIComponent(s.node)}` })],
      ['Lease', s.lease && address(s.lease, 'lease', { href: `#/audit/${encodeURIComponent(s.lease)}` })], ['What', s.flags.join(', ')],
    ].filter(([, v]) => v).map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]))))));
}

export async function slash({ root, argument, signal }) {
  const id = decodeURIComponent(argument);
  const form = lookup({ view: 'slash', name: 'address', value: id, label: 'Fault, machine or keeper', verb: 'Audit' });
  const body = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Slash'), el('p', { class: 't2' }, 'The server reads the transactions of a fault, or of a proof, and checks every amount, signature and proof again. It trusts no keeper for it.'), el('div', { class: 'mt' }, body), form);
  if (!id) return;
  fill(body, el('p', { role: 'status' }, 'Reading the history from the cluster.'));
  try {
    const { slashes } = await get(`/v1/slashes/${encodeURIComponent(id)}`, signal);
    fill(body, slashes.map(one), el('div', { class: 'stack mt' }, el('span', { class: 't3 small' }, 'The same without this server'), copyField(`gantry audit slash ${id}`, 'the command')));
  } catch (err) {
    if (!signal.aborted) fill(body, problem(err));
  }
}
