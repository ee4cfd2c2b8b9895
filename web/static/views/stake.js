// What an owner has at stake, and for which machines.
import { el, fill } from '../dom.js';
import { address, stats } from '../parts.js';
import { when } from '../show.js';
import { table } from '../table.js';
import { machineLink } from './offers.js';
import { owner } from './owner.js';

export async function stake(view) {
  const { root } = view;
  const { form, p, instead } = await owner({ ...view, view: 'stake' });
  const body = el('div', { class: 'gap' });
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Stake'), el('p', {}, 'Stake stands behind what a machine says and serves. A fault that is proven takes a part of it.'))), body, form);
  fill(body, p ? [
    stats('In short', ['Stake', [p.stake, el('small', {}, ' GNT')]], ['Needed', [p.lockedStake, el('small', {}, ' GNT')]], ['Slashed so far', [p.slashedTotal, el('small', {}, ' GNT')]],
      p.unstaking !== '0' && ['On its way out', [p.unstaking, el('small', {}, ' GNT')], ['from ', when(p.unstakeAt)]], ['Open faults', p.pendingFaults]),
    p.machines.length > 0 && table('Stake by machine', 'GNT; what a machine lacks keeps orders from it.', ['Machine', 'Address', 'Stake #', 'Needed #', 'Held by faults #', 'Lacks #'],
      p.machines.map((m) => [machineLink(m, 'stake', `${m.gpus} × ${m.model}`), address(m.address, 'machine'), m.stake, m.requiredStake, m.stakeHeldByFaults, m.missingStake])),
  ] : instead);
}
