// The nodes that are offered, the best first, as `gantry search` shows them.
import { get } from '../api.js';
import { choice, el, field, fill, simulated } from '../dom.js';
import { plural, problem } from '../show.js';
import { history } from './history.js';
import { regions, tiers } from './regions.js';

// withClaim is a figure with what is claimed below it.
const withClaim = (measured, claimed) => [measured ?? el('span', { class: 'dim' }, 'not measured'), claimed && el('div', { class: 'note' }, claimed)];

const columns = [
  { name: 'Model', of: (o) => o.model, cell: (o) => [el('a', { href: `#/machine/${encodeURIComponent(o.address)}`, 'data-key': `machine-${o.address}` }, `${o.gpus} × ${o.model}`), ' ', o.simulated && simulated(), ' ', o.verified && el('span', { class: 'badge verified' }, 'verified'), el('div', { class: 'note' }, `${Math.round(o.vramMib / 1024)} GiB each`)] },
  { name: 'Machine', number: true, of: (o) => o.cpuCores, cell: (o) => [`${o.cpuCores} cores`, el('div', { class: 'note' }, `${Math.floor(o.ramMib / 1024)} GiB, disk ${o.diskGib} GiB`)] },
  { name: 'Price', unit: 'USDC/GPU-hour', number: true, of: (o) => Number(o.pricePerGpuHour), cell: (o) => o.pricePerGpuHour },
  { name: 'Free GPUs', number: true, of: (o) => o.freeGpus, cell: (o) => `${o.freeGpus} of ${o.gpus}` },
  { name: 'Tier', number: true, of: (o) => o.tier, cell: (o) => o.tier },
  { name: 'Region', of: (o) => o.region, cell: (o) => [o.region, o.site && el('div', { class: 'note' }, ` ${o.site}`)] },
  { name: 'Measured', unit: 'TOPS int8', number: true, of: (o) => Number(o.measured?.tops ?? 0), cell: (o) => withClaim(o.measured?.tops, o.claimed.tops && `data sheet ${o.claimed.tops}`) },
  { name: 'Memory', unit: 'GB/s', number: true, of: (o) => Number(o.measured?.gigabytesPerSecond ?? 0), cell: (o) => withClaim(o.measured?.gigabytesPerSecond, o.claimed.gigabytesPerSecond && `data sheet ${o.claimed.gigabytesPerSecond}`) },
  { name: 'Unit price', unit: 'USDC/TOPS-hour', number: true, of: (o) => Number(o.measured?.pricePerTopsHour ?? Infinity), cell: (o) => o.measured?.pricePerTopsHour ?? '–' },
  { name: 'Network', unit: 'Mbit/s, down / up', number: true, of: (o) => o.measured?.downMbps ?? 0, cell: (o) => withClaim(o.measured?.downMbps ? `${o.measured.downMbps} / ${o.measured.upMbps}` : null, `claims ${o.claimed.downMbps} / ${o.claimed.upMbps}`) },
  { name: 'Uptime', unit: '%', number: true, of: (o) => Number(o.uptimePercent), cell: (o) => withClaim(o.uptimePercent, `${o.checksPassed} of ${o.checksTotal} checks`) },
  { name: 'Reputation', unit: '%', number: true, of: (o) => Number(o.reputationPercent), cell: (o) => o.reputationPercent },
  { name: 'Runs', of: (o) => o.isolation, cell: (o) => [({ process: 'commands', sandbox: 'images', volumes: 'images, volumes' })[o.isolation] ?? o.isolation, o.cuda && el('div', { class: 'note' }, `CUDA ${o.cuda}`)] },
];

// terms are those of the API's search, from what the form holds. A term has no spaces.
export function terms(form) {
  const word = (name) => form.elements[name].value.trim().replace(/\s+/g, '');
  const all = [];
  if (word('gpu')) all.push(`gpu=${word('gpu')}`);
  if (word('region')) all.push(`region=${word('region')}`);
  if (word('price')) all.push(`price<=${word('price')}`);
  if (word('count')) all.push(`count>=${word('count')}`);
  if (word('tier')) all.push(`tier>=${word('tier')}`);
  if (word('kind')) all.push(word('kind'));
  if (form.elements.images.checked) all.push('sandbox');
  return all.join(' ');
}

export async function market({ root, signal, every }) {
  const m = await get('/v1/market', signal);
  let found = { offers: [], unfit: {} };
  let sorted = { column: null, down: false };
  const table = el('div', { class: 'scroll offers', tabindex: 0, role: 'region', 'aria-label': 'Offers' });
  const summary = el('p', { role: 'status' });
  const places = el('section');

  const draw = () => {
    const offers = [...found.offers];
    if (sorted.column) {
      const { of, number } = sorted.column;
      offers.sort((a, b) => (number ? of(a) - of(b) : String(of(a)).localeCompare(String(of(b)))) * (sorted.down ? -1 : 1));
    }
    const unfit = Object.entries(found.unfit).map(([why, n]) => `${n} ${why}`).sort().join(', ');
    const text = `${plural(offers.length, 'node')} ${offers.length === 1 ? 'fits' : 'fit'}${unfit && `; not these: ${unfit}`}.`;
    if (summary.textContent !== text) summary.textContent = text;
    fill(table, el('table', {},
      el('caption', {}, sorted.column ? `By ${sorted.column.name.toLowerCase()}.` : 'The best first, as an order is awarded: by price and reputation.'),
      el('thead', {}, el('tr', {}, columns.map((c) => el('th', {
        scope: 'col', class: c.number && 'number', 'aria-sort': sorted.column === c && (sorted.down ? 'descending' : 'ascending'),
      }, el('button', { type: 'button', 'data-key': `sort-${c.name}`, on: { click: () => sort(c) } }, c.name), c.unit && el('div', { class: 'note' }, c.unit))),
      el('th', { scope: 'col' }, el('span', { class: 'unseen' }, 'Order')))),
      el('tbody', {}, offers.map((o) => el('tr', {}, columns.map((c, i) => el(i === 0 ? 'th' : 'td', { scope: i === 0 && 'row', class: c.number && 'number' }, c.cell(o))),
        el('td', {}, o.freeGpus > 0 && el('a', {
          class: 'button', href: `#/order?${new URLSearchParams({ gpu: o.model, price: o.pricePerGpuHour, simulated: o.simulated ? '1' : '' })}`, 'data-key': `order-${o.address}`,
          'aria-label': `Order ${o.model} at ${o.pricePerGpuHour} USDC`,
        }, 'Order')))))));
  };
  const sort = (c) => {
    if (sorted.column !== c) sorted = { column: c, down: false };
    else if (!sorted.down) sorted = { column: c, down: true };
    else sorted = { column: null, down: false };
    draw();
  };

  const form = el('form', { class: 'row', 'aria-label': 'Filter', on: { submit: (e) => e.preventDefault() } },
    field('GPU', choice('gpu', [['', 'any'], ...m.models.map((x) => [x.name, x.name])])),
    field('At most, USDC per GPU-hour', el('input', { name: 'price', inputmode: 'decimal', autocomplete: 'off', maxlength: 24 })),
    field('Free GPUs, at least', el('input', { name: 'count', type: 'number', min: 1, max: 8, value: 1 })),
    field('Region begins with', el('input', { name: 'region', autocomplete: 'off', maxlength: 16 })),
    field('Tier, at least', choice('tier', [['', 'any'], ['1', '1'], ['2', '2'], ['3', '3']])),
    field('GPUs', choice('kind', [['', 'all'], ['real', 'real'], ['simulated', 'simulated']])),
    field('Runs images', el('input', { name: 'images', type: 'checkbox' })));
  const failure = el('div');
  let asked = 0;
  const load = async () => {
    const mine = ++asked;
    const answer = await get(`/v1/offers?${new URLSearchParams({ q: terms(form) })}`, signal);
    if (mine !== asked) return; // the filter has changed meanwhile
    const before = JSON.stringify([found.offers, found.unfit]); // at is another each second
    found = answer;
    if (before === JSON.stringify([found.offers, found.unfit]) && table.firstChild) return;
    draw();
    fill(places, found.offers.length > 0 && [el('h2', {}, 'By region'), regions(found.offers)]);
  };
  let typing;
  form.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(async () => {
      try {
        await load();
        failure.replaceChildren();
      } catch (err) {
        if (!signal.aborted) failure.replaceChildren(problem(err));
      }
    }, 250);
  });
  root.append(el('h1', { tabindex: -1 }, 'Market'), form, failure, summary, table,
    el('p', { class: 'note' }, 'Measured is what keepers have measured of a node’s weakest GPU and of its line; beside it is what the data sheet or, of its line, the provider says. The unit price is the ask for an hour of one TOPS that was measured.'),
    tiers(), history(m.models.map((x) => x.name), signal), places);
  await load();
  every(5000, load);
}
