// Where the machines are, as their providers say, and what tiers mean.
import { el, svg } from '../dom.js';
import { card, claim, inCard } from '../parts.js';
import { map } from './map.js';
import { placeOf } from './regions.js';

const most = 10;

// places adds offers up by region, on a map and as a list. choose is called with the region that is pressed, chosen says whether one
// is among the terms of the search.
export function places(offers, chosen, choose) {
  const by = new Map();
  for (const o of offers) {
    const [free, all] = by.get(o.region) ?? [0, 0];
    by.set(o.region, [free + o.freeGpus, all + o.gpus]);
  }
  const regions = [...by].map(([name, [free, all]]) => ({ name, free, all })).sort((a, b) => b.free - a.free);
  const rows = regions.slice(0, most);
  const largest = Math.max(1, ...rows.map((r) => r.all));
  const free = regions.reduce((n, r) => n + r.free, 0);
  const nowhere = regions.filter((r) => r.name && !placeOf(r.name)).map((r) => r.name);
  const button = (name) => el('button', { type: 'button', class: 'link', 'aria-pressed': String(chosen(name)), 'data-key': `region-${name}`, on: { click: () => choose(name) } }, claim(name));
  return rows.length > 0 && inCard({ name: 'Where they are', level: 'h3', end: `${free} free` }, map(regions.filter((r) => r.name), chosen, choose),
    el('ul', { class: 'stack-12', 'aria-label': 'Regions' }, rows.map((r) => el('li', { class: 'stack' },
      el('div', { class: 'row between small' }, r.name ? button(r.name) : claim('not said'), el('span', { class: 't3' }, `${r.free} of ${r.all} free`)),
      svg('svg', { class: 'full', viewBox: '0 0 290 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, svg('rect', { class: 'f-track', width: ((290 * r.all) / largest).toFixed(1), height: 6, rx: 3 }), svg('rect', { class: 'f-ink', width: ((290 * r.free) / largest).toFixed(1), height: 6, rx: 3 }))))),
    nowhere.length > 0 && el('p', { class: 't2 tiny' }, 'Not on the map: ', nowhere.slice(0, most).map((name, i) => [i > 0 && ', ', claim(name)]), nowhere.length > most && ` and ${nowhere.length - most} more`, '.'),
    el('p', { class: 't3 tiny' }, 'Regions are claims of the machines’ owners. Land: Natural Earth.'));
}

// tiers says what each means.
export const tiers = () => card({ label: 'Tiers' }, el('details', { class: 'more' }, el('summary', {}, 'What a tier means'), el('div', { class: 'body stack-12 small' }, el('dl', { class: 'stack-8' },
  [['Tier 0', 'Nothing is shown: the GPUs are simulated, or there is no evidence, or it is false. What the machine is, its provider says.'],
    ['Tier 1', 'An inventory, signed by the node’s key: the key stands for what the machine says of itself.'],
    ['Tier 2', 'The same, and a quote of the machine’s TPM: one particular machine, with a maker’s TPM and a measured start, stands behind the answer.'],
    ['Tier 3', 'A confidential virtual machine with an expected image vouches for it all, and each GPU for its confidential mode: the code that answered is known, and runs where the machine’s owner cannot look.']]
    .map(([t, d]) => [el('dt', { class: 'medium' }, t), el('dd', { class: 't2' }, d)])),
el('p', { class: 't3' }, 'Measured figures are apart from tiers: keepers measure the GPUs of free machines in each period. “Verified” is a machine with an age, an uptime and paid leases behind it.'))));
