// The history of a slash, rebuilt by the server from its transactions.
import { get } from '../api.js';
import { describe, el, field, figure, fill } from '../dom.js';
import { problem } from '../show.js';
import { steps } from './steps.js';

const code = (text) => text && el('code', {}, text);

function one(s) {
  return el('article', { class: 'card' }, el('h2', {}, s.proof ?? `Fault in period ${s.period}`),
    el('p', { role: 'status', class: s.ok ? 'verdict good' : 'verdict bad' }, s.ok ? 'Everything adds up.' : 'NOT everything adds up: see the steps below.'),
    el('div', { class: 'figures' }, figure('State', s.state), figure('At stake', `${s.amount} GNT`), figure('To those it harmed', `${s.customer} GNT`), figure('Finder', `${s.finder} GNT`), figure('Burned', `${s.burned} GNT`)),
    steps(s.steps, 'From the first to the last.'),
    describe(['Fault', code(s.fault)], ['Keeper', code(s.keeper)], ['Node', s.node && el('a', { href: `#/machine/${encodeURIComponent(s.node)}` }, s.node)],
      ['Lease', s.lease && el('a', { href: `#/audit/${encodeURIComponent(s.lease)}` }, s.lease)], ['What', s.flags.join(', ')], ['Look it up at', code(s.explorer)]));
}

export async function slash({ root, argument, signal }) {
  const id = decodeURIComponent(argument);
  const address = el('input', { name: 'address', required: true, value: id, autocomplete: 'off', spellcheck: 'false', maxlength: 44 });
  const form = el('form', { class: 'row' }, field('Fault, node or keeper', address), el('div', {}, el('button', { class: 'act' }, 'Audit')));
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    location.hash = `#/slash/${encodeURIComponent(address.value.trim())}`;
  });
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
