// The history of a slash, rebuilt by the server from its transactions.
import { get } from '../api.js';
import { code, describe, el, figure, fill } from '../dom.js';
import { problem } from '../show.js';
import { lookup } from './lookup.js';
import { steps, verdict } from './steps.js';

function one(s) {
  return el('article', { class: 'card' }, el('h2', {}, s.proof ?? `Fault in period ${s.period}`),
    verdict(s.outcome),
    el('div', { class: 'figures' }, figure('State', s.state), figure('At stake', `${s.amount} GNT`), figure('To those it harmed', `${s.customer} GNT`), figure('Finder', `${s.finder} GNT`), figure('Burned', `${s.burned} GNT`)),
    steps(s.steps, 'From the first to the last.'),
    describe(['Fault', code(s.fault)], ['Keeper', code(s.keeper)], ['Node', s.node && el('a', { href: `#/machine/${encodeURIComponent(s.node)}` }, s.node)],
      ['Lease', s.lease && el('a', { href: `#/audit/${encodeURIComponent(s.lease)}` }, s.lease)], ['What', s.flags.join(', ')], ['Look it up at', code(s.explorer)]));
}

export async function slash({ root, argument, signal }) {
  const id = decodeURIComponent(argument);
  const form = lookup({ view: 'slash', name: 'address', value: id, label: 'Fault, node or keeper', verb: 'Audit' });
  const body = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Slash'), el('p', {}, 'The server reads the transactions of a fault, or of a proof, and checks every amount, signature and proof again. It trusts no keeper for it.'), form, body);
  if (!id) return;
  fill(body, el('p', { role: 'status' }, 'Reading the history from the cluster.'));
  try {
    const { slashes } = await get(`/v1/slashes/${encodeURIComponent(id)}`, signal);
    fill(body, slashes.map(one), el('p', { class: 'note' }, 'The same without this server: ', code(`gantry audit slash ${id}`), '.'));
  } catch (err) {
    if (!signal.aborted) fill(body, problem(err));
  }
}
