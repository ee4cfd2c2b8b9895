// A chart of values over time: bars, with the figures in a sentence and a table for who does not see them.
import { el } from './dom.js';
import { table } from './table.js';

// most is how many bars there are.
const most = 60;

// buckets are the means of values in equal parts of the time; null where there is none.
export function buckets(points, n = most) {
  if (points.length === 0) return [];
  const [first, last] = [points[0].at, points.at(-1).at];
  const parts = Array.from({ length: Math.min(n, points.length) }, () => []);
  const width = (last - first) / parts.length || 1;
  for (const p of points) {
    if (p.value !== null) parts[Math.min(parts.length - 1, Math.floor((p.at - first) / width))].push(p.value);
  }
  return parts.map((all, i) => ({ at: first + i * width, value: all.length ? all.reduce((a, b) => a + b, 0) / all.length : null }));
}

const time = (at) => new Date(at * 1000).toLocaleString([], { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' });

// chart shows points { at: unix seconds, value: number or null }, the oldest first. max is the value of a whole bar; the
// largest one without it.
export function chart({ name, unit, points, max, digits = 2 }) {
  const text = (v) => `${v.toFixed(digits)} ${unit}`;
  const all = buckets(points);
  const known = all.filter((b) => b.value !== null);
  if (known.length === 0) return el('figure', { class: 'chart' }, el('figcaption', {}, name), el('p', { class: 'note' }, 'Nothing is noted down yet.'));
  const values = known.map((b) => b.value);
  const top = max ?? (Math.max(...values) || 1);
  const bars = el('div', { class: 'bars', 'aria-hidden': 'true' }, all.map((b) => {
    const bar = el('span', { title: b.value === null ? `${time(b.at)}: nothing` : `${time(b.at)}: ${text(b.value)}` });
    bar.style.setProperty('--part', b.value === null ? 0 : Math.min(1, b.value / top));
    return bar;
  }));
  return el('figure', { class: 'chart' }, el('figcaption', {}, name, el('strong', {}, text(points.findLast((p) => p.value !== null).value))), bars,
    el('p', { class: 'note' }, el('span', {}, time(all[0].at)), el('span', {}, `${text(Math.min(...values))} to ${text(Math.max(...values))}`), el('span', {}, time(points.at(-1).at))),
    el('details', {}, el('summary', {}, 'As a table'), table(`${name} over time`, `${name}, ${unit}`, ['From', 'Mean #'], known.map((b) => [time(b.at), b.value.toFixed(digits)]))));
}
