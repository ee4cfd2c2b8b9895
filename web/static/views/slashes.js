// Open faults, and whom it has cost stake or a bond.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { card, empty } from '../parts.js';
import { problem } from '../show.js';
import { faultTable, pastTable } from './faults.js';
import { lookup } from './lookup.js';

export async function slashes({ root, signal, every }) {
  const open = el('div');
  const past = el('div', {}, card({ name: 'Past slashes' }, el('p', { class: 'body t2', role: 'status' }, 'Reading them from the cluster.')));
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Slashes'), el('p', {}, 'What machines and keepers have lost for what was proven against them. Each slash can be audited.'))),
    el('div', { class: 'gap' }, open, past, lookup({ view: 'slash', name: 'address', value: '', label: 'Fault, machine or keeper', verb: 'Audit' })));
  let shown = '';
  const load = async () => {
    const { faults } = await get('/page/keepers', signal);
    const now = JSON.stringify(faults);
    if (now === shown) return;
    shown = now;
    fill(open, faults.length === 0 ? card({ name: 'Open faults' }, el('p', { class: 'body t2' }, 'No fault is open.')) : faultTable(faults, 'That are open: not applied yet, or with compensation to be claimed.'));
  };
  let slashed = '';
  const read = async () => {
    try {
      const all = await get('/v1/slashes', signal);
      const now = JSON.stringify(all);
      if (now !== slashed) fill(past, all.slashes.length === 0 ? empty('No past slashes', all.whole ? 'Nobody was slashed yet, as far as the cluster’s node remembers.' : 'None among the last payouts.') : pastTable(all));
      slashed = now;
    } catch (err) {
      if (!signal.aborted && !slashed) fill(past, problem(err));
    }
  };
  read();
  await load();
  every(4000, load);
  every(60_000, read);
}
