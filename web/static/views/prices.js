// What GPUs of the market have cost, as far as this server has noted it down.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { card, seg } from '../parts.js';
import { dollars, problem } from '../show.js';

const colours = ['s4', 's3', 's1', 's2'];

const ask = (s, model) => {
  const n = Number(s.models.find((x) => x.model === model)?.medianAsk ?? NaN);
  return Number.isFinite(n) ? n : null;
};

// prices draws the median ask of the models that have most GPUs.
export function prices(signal) {
  const body = el('div', { class: 'body' });
  let hours = 720;
  const load = async () => {
    try {
      const { samples } = await get(`/v1/statistics/history?hours=${hours}`, signal);
      const names = [...new Set(samples.flatMap((s) => s.models.map((m) => m.model)))];
      const models = (samples.at(-1)?.models ?? []).filter((m) => m.medianAsk).map((m) => m.model).concat(names).filter((m, i, all) => all.indexOf(m) === i).slice(0, colours.length);
      if (samples.length < 2 || models.length === 0) {
        fill(body, el('p', { class: 't2 small' }, 'This server has noted down too little for a chart yet.'));
        return;
      }
      const { plot } = await import('../plot.js');
      if (signal.aborted) return;
      const p = plot({
        name: 'Median ask', height: 170, signal, lines: models.map((name, i) => ({ name, colour: colours[i] })), unit: (v) => dollars(v.toFixed(2)),
        text: (all) => (all.length === 1 && all[0] !== null ? dollars(all[0].toFixed(2)) : ''),
      });
      fill(body, p.figure, el('ul', { class: 'row wrap tiny' }, models.map((m, i) => el('li', { class: 'row tight' }, el('span', { class: `dot-i c${'1234'[[3, 2, 0, 1][i]]}` }), m, ' ', el('b', { class: 'medium' }, samples.at(-1).models.find((x) => x.model === m)?.medianAsk ? dollars(samples.at(-1).models.find((x) => x.model === m).medianAsk) : '–')))));
      p.show([samples.map((s) => s.at), ...models.map((m) => samples.map((s) => ask(s, m)))]);
    } catch (err) {
      if (!signal.aborted) fill(body, problem(err));
    }
  };
  load();
  return card({ name: 'Price per GPU-hour', level: 'h3', end: seg('Time of the prices', [[168, '7 d'], [720, '30 d'], [8784, '1 y']], hours, (h) => {
    hours = h;
    load();
  }) }, body);
}
