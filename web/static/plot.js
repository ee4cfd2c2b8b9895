// Charts of values over time, drawn by uPlot in the colours of the page: a value in the head, a cursor that all charts of a view
// share, and a table for who does not see them.
import { el, fill } from './dom.js';
import { clock, day, nb } from './show.js';
import { table } from './table.js';
import uPlot from './vendor/uplot.js';

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// colour resolves a token: a canvas does not know light-dark().
function colour(name) {
  const probe = el('span', { class: `probe probe-${name}` });
  document.body.append(probe);
  const out = getComputedStyle(probe).color;
  probe.remove();
  return out;
}

const faint = (rgb) => rgb.replace('rgb(', 'rgba(').replace(')', ', 0.13)');

const timeOf = (seconds, whole) => (whole > 3 * 86_400 ? day(seconds) : clock(seconds, whole < 600));

function axes(unit, size) {
  const base = { stroke: colour('axis'), font: `11px ${token('--sans')}`, ticks: { show: false }, border: { show: false } };
  return [
    { ...base, grid: { show: false }, space: 80, size: 22, values: (u, all) => all.map((t) => timeOf(t, u.scales.x.max - u.scales.x.min)) },
    { ...base, grid: { stroke: colour('line'), width: 1 }, space: 36, size, values: (_, all) => all.map(unit) },
  ];
}

// plot makes a figure. lines are [{ name, colour, dash, steps, fill }]; text writes values for the head; range is that of the
// values, whose top is the largest one without it.
export function plot({ name, label, lines, unit = String, text, range, height = 118, sync, size = 44, signal, bars = false }) {
  const value = el('span', { class: 'v' });
  const box = el('div', { class: 'plot', tabindex: 0, role: 'img', 'aria-label': label ?? name });
  const rows = el('div');
  const figure = el('figure', { class: 'chart card' }, el('figcaption', { class: 'head2' }, el('span', { class: 'medium' }, name), value), box,
    el('details', { class: 'tiny t3', on: { toggle: () => asTable() } }, el('summary', {}, 'As a table'), rows));
  let data = [[], ...lines.map(() => [])];
  let u = null;
  const newest = () => {
    for (let i = data[0].length - 1; i >= 0; i--) if (lines.some((_, k) => data[k + 1][i] !== null)) return i;
    return -1;
  };
  const head = (i) => fill(value, i < 0 ? '–' : text(lines.map((_, k) => data[k + 1][i])));
  const asTable = () => fill(rows, table(`${name} over time`, name, ['Time', ...lines.map((l) => `${l.name} #`)],
    data[0].map((t, i) => [timeOf(t, data[0].at(-1) - data[0][0]), ...lines.map((_, k) => (data[k + 1][i] === null ? '–' : unit(data[k + 1][i])))]).slice(-200)));
  const draw = () => {
    u?.destroy();
    u = null;
    if (data[0].length === 0 || box.clientWidth === 0) return;
    const top = (min, max) => range ?? [0, (max || 1) * 1.1];
    u = new uPlot({
      width: box.clientWidth, height, legend: { show: false }, padding: [6, 28, 0, 0], axes: axes(unit, size),
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: sync && { key: sync, setSeries: false } },
      scales: { x: { time: true }, y: { range: (_, min, max) => top(min, max) } },
      series: [{}, ...lines.map((l) => ({
        label: l.name, stroke: colour(l.colour), width: l.width ?? 1.75, dash: l.dash, fill: l.fill && faint(colour(l.colour)), spanGaps: false, points: { show: false },
        paths: l.steps ? uPlot.paths.stepped({ align: 1 }) : bars ? uPlot.paths.bars({ size: [0.7, 40], radius: 0.1 }) : undefined,
      }))],
      hooks: { setCursor: [(x) => head(x.cursor.idx ?? newest())] },
    }, data, box);
  };
  box.addEventListener('keydown', (e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by || !u) return;
    e.preventDefault();
    const i = Math.max(0, Math.min(data[0].length - 1, (u.cursor.idx ?? newest()) + by));
    u.setCursor({ left: u.valToPos(data[0][i], 'x'), top: 1 });
  });
  const seen = new ResizeObserver(draw);
  seen.observe(box);
  addEventListener('gantry-theme', draw, { signal });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw, { signal });
  signal?.addEventListener('abort', () => {
    seen.disconnect();
    u?.destroy();
  });
  // show gives it values: the times, unix seconds, then those of each line; null is a gap.
  const show = (next) => {
    data = next;
    if (u && data[0].length) u.setData(data);
    else draw();
    head(u?.cursor.idx ?? newest());
    box.setAttribute('aria-label', `${label ?? name}: ${value.textContent || 'nothing known'}`);
  };
  return { figure, show };
}

// spaced joins a value and its unit, in the size of a head.
export const spaced = (value, unit) => [value, nb, el('small', {}, unit)];
