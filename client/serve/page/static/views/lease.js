// One lease.
import { get } from '../api.js';
import { describe, el, fill, simulated } from '../dom.js';
import { span, usdc, when } from '../show.js';
import { stateOf } from './leases.js';
import { stopButton } from './stop.js';

export async function lease({ root, argument, signal, every }) {
  const id = decodeURIComponent(argument);
  const body = el('div');
  const failure = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Lease'), failure, body);
  let shown = '';
  const load = async (anew) => {
    const l = await get(`/v1/leases/${encodeURIComponent(id)}`, signal);
    const now = JSON.stringify(l);
    if (now === shown && anew !== true) return;
    shown = now;
    const code = (text) => text && el('code', {}, text);
    fill(body,
      describe(
        ['State', stateOf(l)], ['Detail', l.detail],
        ['GPUs', [`${l.gpus} × ${l.model ?? 'GPU'} `, l.simulated && simulated()]],
        ['Exit code', l.exitCode], ['Output', l.output]),
      el('h2', {}, 'Money'),
      describe(
        ['Price', `${usdc(l.pricePerGpuHour)} per GPU-hour`], ['Price of the award', l.awardPricePerGpuHour && `${usdc(l.awardPricePerGpuHour)} per GPU-hour`],
        ['Cost so far, at most', usdc(l.costAtMost)], ['Paid', usdc(l.paid)], ['Fee in it', usdc(l.feeIncluded)], ['Still reserved', usdc(l.reserved)]),
      el('h2', {}, 'Time'),
      describe(
        ['Awarded', when(l.awardedAt)], ['Started', when(l.startedAt)], ['Money lasts until', when(l.fundedUntil)], ['Ended', when(l.endedAt)],
        ['Used', span(l.usedSeconds)], ['Paid', span(l.paidSeconds)], ['Receipts say', span(l.receiptSeconds)], ['Keepers confirm', span(l.verifiedSeconds)],
        ['Down', l.downtimeSeconds ? span(l.downtimeSeconds) : '']),
      el('h2', {}, 'Addresses'),
      describe(['Lease', code(l.address)], ['Order', code(l.order)], ['Node', code(l.node)], ['Customer', code(l.customer)], ['Snapshot', code(l.snapshot)]),
      el('p', { class: 'note' }, 'Its output: ', el('code', {}, `gantry logs ${l.address}`), '. Its history with every proof: ', el('code', {}, `gantry audit ${l.address}`), '.'),
      el('div', { class: 'buttons' }, stopButton(l, failure, load)));
  };
  await load();
  every(3000, load);
}
