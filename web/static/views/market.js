// The machines for rent, the best first, as `gantry search` shows them.
import { get } from '../api.js';
import { choice, el, fill, icon, painted, say } from '../dom.js';
import { skeleton } from '../parts.js';
import { plural, problem } from '../show.js';
import { counted, readDays, since } from './byday.js';
import { gallery, pulse } from './gallery.js';
import { offersTable } from './offers.js';
import { places, tiers } from './places.js';
import { prices } from './prices.js';
import { read, words } from './search.js';

const tries = ['8 × H100 with NVLink', '80 GiB under $1.50', 'attested H200', '24 GiB in Europe'];

const filters = [
  ['count', 'GPUs', ['1', '2', '4', '8'], (v) => `count>=${v}`, (v) => `≥ ${v}`], ['price', 'Price', ['0.5', '1', '2', '4'], (v) => `price<${v}`, (v) => `< $${v}`],
  ['vram', 'Memory', ['24', '48', '80', '141'], (v) => `vram>=${v}`, (v) => `≥ ${v} GiB`], ['uptime', 'Uptime', ['90', '98', '99.5'], (v) => `uptime>=${v}`, (v) => `≥ ${v} %`],
  ['tier', 'Attested', ['1', '2', '3'], (v) => `tier>=${v}`, (v) => `tier ≥ ${v}`],
];

const sorts = [['award', 'Best value'], ['tops-price', 'TOPS per $'], ['tops', 'TOPS'], ['bandwidth', 'GB/s of memory'], ['down', 'Download'], ['up', 'Upload']];

// chips are the filters; changed is called with their terms.
function chips(local, changed) {
  const real = el('button', { type: 'button', class: 'chip', 'aria-pressed': String(!local), on: { click: () => {
    real.setAttribute('aria-pressed', String(real.getAttribute('aria-pressed') !== 'true'));
    changed();
  } } }, icon('check', 's14'), 'Real GPUs');
  const selects = filters.map(([name, label, values, , text]) => choice(name, [['', 'any'], ...values.map((v) => [v, text(v)])]));
  const boxes = selects.map((s, i) => el('label', { class: 'chip' }, el('b', {}, filters[i][1]), s));
  const region = el('input', { name: 'region', placeholder: 'any', autocomplete: 'off', maxlength: 16 });
  const terms = () => [
    real.getAttribute('aria-pressed') === 'true' && 'real', ...selects.map((s, i) => s.value && filters[i][3](s.value)), region.value.trim() && `region=${region.value.trim().replace(/\s+/g, '')}`,
  ].filter(Boolean);
  let typing;
  region.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(changed, 250);
  });
  for (const s of selects) s.addEventListener('change', changed);
  return { parts: [real, boxes, el('label', { class: 'chip' }, el('b', {}, 'Region'), region)], terms, anyRegion: () => { region.value = ''; } };
}

// searchLine is the line into which people type; its words become chips.
function searchLine(changed) {
  const found = el('span', { class: 'row tight words' });
  const input = el('input', { name: 'q', 'aria-label': 'Search GPUs', placeholder: '8 × H100 in Europe under $2.20', autocomplete: 'off', spellcheck: 'false', maxlength: 120 });
  let terms = [];
  const draw = () => {
    input.placeholder = terms.length ? '' : '8 × H100 in Europe under $2.20';
    fill(found, terms.map((t) => el('span', { class: 'word' }, words(t), el('button', { type: 'button', class: 'icon-btn', 'aria-label': `Without ${words(t)}`, on: { click: () => set(terms.filter((x) => x !== t)) } }, icon('x', 's14')))));
  };
  const set = (next) => {
    terms = next;
    draw();
    changed();
  };
  const take = (text) => {
    const next = read(text);
    input.value = '';
    set([...terms.filter((t) => !next.some((n) => n.split(/[<>=]/)[0] === t.split(/[<>=]/)[0])), ...next]);
  };
  input.addEventListener('keydown', (e) => e.key === 'Backspace' && !input.value && terms.length && set(terms.slice(0, -1)));
  const form = el('form', { class: 'search', role: 'search', on: { submit: (e) => {
    e.preventDefault();
    if (input.value.trim()) take(input.value);
  } } }, icon('search', 's20'), found, input, el('kbd', { class: 'hide-s' }, '/'), el('button', { class: 'btn act' }, 'Search'));
  const row = el('p', { class: 'tries' }, el('span', { class: 'nowrap' }, 'Try'), tries.map((t) => el('button', { type: 'button', class: 'link nowrap', on: { click: () => {
    terms = [];
    take(t);
  } } }, t)));
  return { parts: [form, row], terms: () => terms, set };
}

export async function market({ root, query, signal, every, about }) {
  let found = null;
  const table = el('div', { class: 'card' }, skeleton());
  const failure = el('div');
  const count = el('span', { class: 't3 small nowrap', role: 'status' });
  const cards = el('div');
  const pulses = el('div');
  const aside = el('div');
  const side = el('aside', { class: 'stack-16', 'aria-label': 'Prices and places' });
  let asked = 0;
  let hours = [];
  const sort = choice('sort', sorts);
  const unfitWords = () => Object.entries(found.unfit).map(([why, n]) => `${n} ${why}`).sort().join(', ');
  const load = async () => {
    const mine = ++asked;
    const q = [...line.terms(), ...filter.terms()].join(' ');
    const answer = await get(`/v1/offers?${new URLSearchParams({ q, sort: sort.value })}`, signal);
    if (mine !== asked) return; // the search has changed meanwhile
    const before = JSON.stringify([found?.offers, found?.unfit]); // at is another each second
    found = answer;
    if (before === JSON.stringify([found.offers, found.unfit])) return;
    const unfit = unfitWords();
    fill(count, plural(found.fit, 'machine'), unfit && el('span', { class: 'hide-s', title: unfit }, ` · not these: ${unfit}`));
    draw();
    await painted();
    around();
    readDays(found.offers.map((o) => o.address), signal).then((more) => more && draw());
  };
  // draw shows the table, and again when more is known of its machines.
  const draw = () => {
    const unfit = unfitWords();
    const seen = found.offers.find((o) => counted(o.address));
    fill(table, found.offers.length === 0 ? el('p', { class: 'pad t2' }, 'No machine fits. ', unfit && `Not these: ${unfit}.`) : offersTable(found.offers, `Machines for rent, ${sorts.find(([v]) => v === sort.value)[1].toLowerCase()} first`, !about.public),
      el('div', { class: 'legend' }, el('span', {}, el('span', { class: 'dot-i proof' }), 'measured by keepers'), seen && el('span', {}, since(seen.address, 30)), el('span', {}, 'a mark: typical of the model; dashed: the market’s median'), el('span', {}, el('span', { class: 'claim' }, 'dotted'), ' claimed by the provider')));
  };
  // locate shows where the machines are. A region that is pressed is searched for, or not any more: it begins with what is said, up
  // to its first space.
  const term = (region) => `region=${region.trim().split(/\s/)[0]}`;
  const chosen = (region) => line.terms().includes(term(region));
  const locate = () => fill(aside, places(found.offers, chosen, (region) => {
    filter.anyRegion();
    line.set([...line.terms().filter((t) => !t.startsWith('region=')), ...(chosen(region) ? [] : [term(region)])]);
  }));
  // around draws what stands around the table.
  const around = () => {
    fill(pulses, pulse(found.offers, hours));
    locate();
  };
  const count24 = async () => {
    hours = (await get('/v1/checks/hours', signal).catch(() => ({ hours: [] }))).hours; // a server may not count
    if (found) fill(pulses, pulse(found.offers, hours));
  };
  const changed = async () => {
    try {
      await load();
      locate(); // the same machines may be found by other terms
      failure.replaceChildren();
      say(count.textContent);
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err));
    }
  };
  const line = searchLine(changed);
  const filter = chips(about.local, changed);
  sort.addEventListener('change', changed);
  if (query.get('q')) line.set(read(query.get('q')));
  const first = load(); // on its way while the filters are drawn
  root.append(
    el('section', { class: 'hero' }, el('div', {}, el('h1', { tabindex: -1, 'data-title': 'Market' }, 'GPUs you can check before you pay.'),
      el('p', { class: 'lead' }, 'Independent keepers measure free machines in every period. You pay by the second, only for time that was served, and anyone can audit it.'), line.parts), pulses),
    cards, el('div', { class: 'split' }, el('div', {}, el('div', { class: 'filters', role: 'group', 'aria-label': 'Filters' }, filter.parts, el('label', { class: 'chip end' }, icon('sort', 's14'), el('span', { class: 'unseen' }, 'Sort'), sort)),
      el('p', { class: 'found' }, count), failure, table),
    side));
  await first;
  fill(side, prices(signal), aside, tiers());
  every(5000, load);
  count24();
  every(60_000, count24);
  gallery(cards, (model) => line.set([`gpu=${model.replace(/\s/g, '')}`, ...line.terms().filter((t) => !t.startsWith('gpu='))]), signal);
}
