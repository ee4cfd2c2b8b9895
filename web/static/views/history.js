// How the market's prices and use have changed, as far as this server has noted them down.
import { get } from '../api.js';
import { chart } from '../chart.js';
import { choice, el, field, fill } from '../dom.js';
import { problem } from '../show.js';

const number = (text) => (text === undefined || text === '' ? null : Number(text));

// history shows charts of all GPUs, or of a model that is chosen.
export function history(models, signal) {
  const body = el('div', { class: 'charts' });
  const model = choice('historyModel', [['', 'all'], ...models.map((x) => [x, x])]);
  const hours = choice('historyHours', [['1', 'the last hour'], ['24', 'the last day'], ['168', 'the last week'], ['720', 'the last 30 days'], ['8784', 'the last year']], '24');
  let samples = null;
  const draw = () => {
    const of = (s) => (model.value ? s.models.find((x) => x.model === model.value) : s.total);
    const points = (f) => samples.map((s) => ({ at: s.at, value: of(s) ? f(of(s)) : null }));
    fill(body,
      model.value && chart({ name: 'Median ask', unit: 'USDC per GPU-hour', points: points((x) => number(x.medianAsk)) }),
      model.value && chart({ name: 'Lowest ask with a free GPU', unit: 'USDC per GPU-hour', points: points((x) => number(x.lowestAsk)) }),
      chart({ name: 'Leased', unit: '% of GPUs', points: points((x) => number(x.utilisationPercent)), max: 100 }),
      chart({ name: 'GPUs', unit: 'GPUs', points: points((x) => x.gpus), digits: 0 }));
  };
  const load = async () => {
    try {
      ({ samples } = await get(`/v1/statistics/history?hours=${hours.value}`, signal));
      draw();
    } catch (err) {
      if (!signal.aborted) fill(body, problem(err));
    }
  };
  model.addEventListener('change', () => samples && draw());
  hours.addEventListener('change', load);
  load();
  return el('section', {}, el('h2', {}, 'Prices and use'), el('form', { class: 'row', 'aria-label': 'History', on: { submit: (e) => e.preventDefault() } }, field('GPU of the charts', model), field('Time', hours)), body,
    el('p', { class: 'note' }, 'This server notes the market down each minute in which somebody looks at it, else each hour; for the time when it did not run, it has nothing.'));
}
