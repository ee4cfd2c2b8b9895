// The offers by region.
import { table } from '../table.js';
import { el } from '../dom.js';

// regions adds offers up.
export function regions(offers) {
  const by = new Map();
  for (const o of offers) by.set(o.region || 'not said', [...(by.get(o.region || 'not said') ?? []), o]);
  const rows = [...by].sort(([a], [b]) => a.localeCompare(b)).map(([region, all]) => {
    const prices = all.map((o) => Number(o.pricePerGpuHour)).sort((a, b) => a - b);
    const free = all.reduce((n, o) => n + o.freeGpus, 0);
    const gpus = all.reduce((n, o) => n + o.gpus, 0);
    const meter = el('meter', { min: 0, max: gpus, value: gpus - free, 'aria-label': `Leased in ${region}` });
    return [region, all.length, `${free} of ${gpus}`, meter, prices[0].toFixed(2), prices[Math.floor((prices.length - 1) / 2)].toFixed(2), [...new Set(all.map((o) => o.model))].join(', ')];
  });
  return table('Regions', 'Of the offers above, by the region that their providers say.', ['Region', 'Machines #', 'Free GPUs #', 'Leased', 'Lowest ask #', 'Median ask #', 'GPUs *'], rows);
}

// tiers says what each means.
export const tiers = () => el('details', { class: 'card' }, el('summary', {}, 'What a tier means'), el('dl', { class: 'stack' },
  [['Tier 0', 'Nothing is shown: the GPUs are simulated, or there is no evidence, or it is false. What the machine is, its provider says.'],
    ['Tier 1', 'An inventory, signed by the node’s key: the key stands for what the machine says of itself.'],
    ['Tier 2', 'The same, and a quote of the machine’s TPM: one particular machine, with a maker’s TPM and a measured start, stands behind the answer.'],
    ['Tier 3', 'A confidential virtual machine with an expected image vouches for it all, and each GPU for its confidential mode: the code that answered is known, and runs where the machine’s owner cannot look.']]
    .map(([t, d]) => [el('dt', {}, t), el('dd', {}, d)])),
el('p', { class: 'note' }, 'Measured figures are apart from tiers: keepers measure the GPUs of free machines in each period. “Verified” is a machine with an age, an uptime and paid leases behind it.'));
