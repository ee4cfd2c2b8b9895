// Where the machines are, as their providers say, and what tiers mean.
import { el, svg } from '../dom.js';
import { card, claim, inCard } from '../parts.js';

// places adds offers up by region.
export function places(offers) {
  const by = new Map();
  for (const o of offers) {
    const name = o.region || 'not said';
    const [free, all] = by.get(name) ?? [0, 0];
    by.set(name, [free + o.freeGpus, all + o.gpus]);
  }
  const rows = [...by].sort(([, [a]], [, [b]]) => b - a).slice(0, 10);
  const most = Math.max(1, ...rows.map(([, [, all]]) => all));
  const free = offers.reduce((n, o) => n + o.freeGpus, 0);
  return rows.length > 0 && inCard({ name: 'Where they are', level: 'h3', end: `${free} free` }, el('ul', { class: 'stack-12', 'aria-label': 'Regions' }, rows.map(([name, [n, all]]) => el('li', { class: 'stack' },
    el('div', { class: 'row between small' }, claim(name), el('span', { class: 't3' }, `${n} of ${all} free`)),
    svg('svg', { class: 'full', viewBox: '0 0 290 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, svg('rect', { class: 'f-track', width: ((290 * all) / most).toFixed(1), height: 6, rx: 3 }), svg('rect', { class: 'f-ink', width: ((290 * n) / most).toFixed(1), height: 6, rx: 3 }))))));
}

// tiers says what each means.
export const tiers = () => card({ label: 'Tiers' }, el('details', { class: 'more' }, el('summary', {}, 'What a tier means'), el('div', { class: 'body stack-12 small' }, el('dl', { class: 'stack-8' },
  [['Tier 0', 'Nothing is shown: the GPUs are simulated, or there is no evidence, or it is false. What the machine is, its provider says.'],
    ['Tier 1', 'An inventory, signed by the node’s key: the key stands for what the machine says of itself.'],
    ['Tier 2', 'The same, and a quote of the machine’s TPM: one particular machine, with a maker’s TPM and a measured start, stands behind the answer.'],
    ['Tier 3', 'A confidential virtual machine with an expected image vouches for it all, and each GPU for its confidential mode: the code that answered is known, and runs where the machine’s owner cannot look.']]
    .map(([t, d]) => [el('dt', { class: 'medium' }, t), el('dd', { class: 't2' }, d)])),
el('p', { class: 't3' }, 'Measured figures are apart from tiers: keepers measure the GPUs of free machines in each period. “Verified” is a machine with an age, an uptime and paid leases behind it.'))));
