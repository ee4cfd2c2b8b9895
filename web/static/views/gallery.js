// The market's models as cards, and how many checks stand behind its figures.
import { get } from '../api.js';
import { el, fill, icon } from '../dom.js';
import { spark } from '../figures.js';
import { dollars, memory, passing, problem, three } from '../show.js';
import { hourBars } from './byday.js';
import { perDollar } from './offers.js';

// most is how many models have a card.
const most = 6;

// best is what the model's machines give for a dollar, at best.
function best(offers, model) {
  const all = offers.filter((o) => o.model === model).map(perDollar).filter((n) => n !== null);
  return all.length ? Math.max(...all) : null;
}

const card = ({ model: m, vram, tops, asks }, choose) => el('button', { type: 'button', class: 'model', on: { click: () => choose(m.model) }, 'data-key': `model-${m.model}` },
  el('span', { class: 'row between' }, el('span', { class: 'medium' }, m.model), vram && el('span', { class: 't3 tiny' }, memory(vram))),
  el('span', { class: 'row between' }, el('span', { class: 'price' }, m.lowestAsk ? dollars(m.lowestAsk) : 'none free', m.lowestAsk && el('small', {}, '/h')), spark(asks)),
  el('span', { class: 'row between tiny' }, el('span', { class: 't2' }, `${m.gpus - m.leasedGpus} free`),
    tops !== null && el('span', { class: 'proof row tight', title: 'Measured operations for a dollar an hour' }, icon('seal', 's14'), `${three(tops)} TOPS/$`)));

// gallery fills a place with the models that have most GPUs. It is not waited for: the table comes first.
export async function gallery(place, choose, signal) {
  try {
    const [s, m, all, { samples }] = await Promise.all([get('/v1/statistics', signal), get('/v1/market', signal), get('/v1/offers?sort=tops-price', signal), get('/v1/statistics/history?hours=720', signal)]);
    const models = s.models.filter((x) => x.gpus > 0).slice(0, most).map((model) => ({
      model, vram: m.models.find((x) => x.name === model.model)?.vramMib, tops: best(all.offers, model.model),
      asks: samples.map((x) => Number(x.models.find((y) => y.model === model.model)?.medianAsk ?? NaN)).map((n) => (Number.isFinite(n) ? n : null)),
    }));
    fill(place, models.length > 0 && el('section', { class: 'models', 'aria-label': 'GPU models' }, models.map((x) => card(x, choose))));
  } catch (err) {
    if (!signal.aborted) fill(place, problem(err));
  }
}

// pulse shows the checks of keepers: of the last day by hour, where the server has counted them, else those behind the offers.
export function pulse(offers, counted) {
  const recent = counted.filter((h) => h.at > Date.now() / 1000 - 86_400);
  const by = recent.some((h) => h.total > 0);
  const sums = (list, p, t) => list.reduce(([a, b], x) => [a + x[p], b + x[t]], [0, 0]);
  const [passed, all] = by ? sums(recent, 'passed', 'total') : sums(offers, 'checksPassed', 'checksTotal');
  const figures = offers.filter((o) => Number(o.measured?.tops) > 0).length;
  return el('section', { class: 'card pad pulse', 'aria-label': 'Checks by keepers' },
    el('div', { class: 'row' }, el('span', { class: 'proof' }, icon('seal')), el('h2', { class: 'h3' }, by ? 'Checked in the last 24 hours' : 'Checked by keepers')),
    el('div', { class: 'row base small wrap' }, el('span', {}, el('b', { class: 'strong' }, three(all)), by ? ' checks' : ' checks of these machines'), all > 0 && [el('span', { class: 't3' }, '·'), el('span', {}, `${passing(passed, all)} passed`)],
      by && all > passed && el('span', { class: 'end t2' }, `${all - passed} failed`)),
    by && hourBars(recent), el('p', { class: 't2 small' }, `${figures} of ${offers.length} machines are measured.`));
}
