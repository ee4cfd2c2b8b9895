// Small drawings: measured bars, strips of uptime, squares of GPUs, money bars, sparks and identicons.
import { el, svg } from './dom.js';
import { dollars, micro, percent, plural, three } from './show.js';

const rect = (cls, x, width, more = {}) => svg('rect', { class: cls, x: x.toFixed(1), width: Math.max(0, width).toFixed(1), y: 1, height: 8, rx: 3, ...more });

const picture = (viewBox, label, ...parts) => svg('svg', { class: 'full', viewBox, role: 'img', 'aria-label': label }, parts);

// least is the part of the typical figure below which a machine gets no orders, low the one below which it is slow.
const least = 72;
const low = 95;

// levelOf is the colour of a part of what is typical.
const levelOf = (part) => (part < least ? 'bad' : part < low ? 'warn' : 'proof');

// ticks are those of a rule of 120 % that is so wide.
const ticks = (width) => svg('path', { class: 'k-line2', fill: 'none', d: Array.from({ length: 11 }, (_, i) => `M${(((i + 1) * width) / 12).toFixed(1)} 11v${i === 9 ? 4 : 2}`).join('') });

// measured shows what keepers have measured of a machine, against what is typical of its model.
export function measured(o, { width = 168, mark = false } = {}) {
  const tops = Number(o.measured?.tops ?? NaN);
  if (!(tops > 0)) {
    return el('div', { class: 'meas' }, el('div', { class: 'row between base' }, el('span', { class: 't2' }, 'Not measured')),
      picture(`0 0 ${width} 16`, 'Not measured yet', rect('', 0, width, { fill: 'url(#hatch)' }), ticks(width)));
  }
  const typical = Number(o.typical?.tops ?? NaN);
  const part = (tops / typical) * 100;
  const known = Number.isFinite(part);
  const ofClass = o.typical?.of === 'class';
  if (!known) return el('div', { class: 'meas', title: 'What is typical of this model is not known' }, el('span', { class: 'main' }, three(tops), el('span', { class: 't3' }, ' TOPS')));
  const unit = width / 120;
  const level = levelOf(part);
  const words = `Measured ${three(tops)} TOPS, ${percent(part)} of ${ofClass ? 'a typical machine of this model' : 'the market’s median of this model'}`;
  return el('div', { class: 'meas' },
    el('div', { class: 'row between base' }, el('span', { class: 'main' }, three(tops), el('span', { class: 't3' }, ' TOPS')), el('span', { class: `${ofClass || level !== 'proof' ? level : 't2'} medium` }, percent(part))),
    picture(`0 0 ${width} 16`, words, rect('f-track', 0, width), rect(`f-${level}`, 0, Math.min(part, 120) * unit),
      svg('path', { class: 'k-text', 'stroke-width': 1.5, fill: 'none', 'stroke-dasharray': !ofClass && '2 1.6', d: `M${(100 * unit).toFixed(1)} -1.5v13` }),
      mark && svg('path', { class: 'k-text', 'stroke-width': 1.5, fill: 'none', d: `M${(least * unit).toFixed(1)} 9v6` }), ticks(width)));
}

const shades = (part) => (part >= 99.9 ? 'f-proof' : part >= 99 ? 'f-proof-mid' : part >= 90 ? 'f-warn' : 'f-bad');

// strip has a tick for each of some equal times, the oldest first: the part in which the machine was up, null where nothing is known.
export function strip(all, label, width = 290) {
  const w = width / all.length;
  return svg('svg', { class: 'full', viewBox: `0 0 ${width} 18`, role: 'img', 'aria-label': label }, all.map(({ part, text }, i) => {
    const known = part !== null;
    return svg('rect', { class: known ? shades(part) : 'f-none', x: (i * w).toFixed(1), width: (w * 0.66).toFixed(1), y: known ? 0 : 15, height: known ? 18 : 3, rx: 1 }, svg('title', {}, text));
  }));
}

// pips are squares for GPUs, of which so many are filled.
export function pips(full, all, word) {
  const text = `${full} of ${all}`;
  if (all > 8) return el('div', { class: 'pips' }, el('span', { class: 'tiny t3' }, `${text} ${word}`));
  const squares = Array.from({ length: all }, (_, i) => (i < full
    ? svg('rect', { class: 'f-text', x: i * 11, y: 1, width: 8, height: 8, rx: 2 })
    : svg('rect', { class: 'k-edge', fill: 'none', x: i * 11 + 0.5, y: 1.5, width: 7, height: 7, rx: 1.75 })));
  return el('div', { class: 'pips' }, svg('svg', { width: all * 11 - 3, height: 10, viewBox: `0 0 ${all * 11 - 3} 10`, role: 'img', 'aria-label': `${plural(all, 'GPU')}, ${full} ${word}` }, squares), el('span', { class: 'tiny t3' }, text));
}

// partBar shows how much of something is done, 0 to 1, as a machine says; hatched where that is not known.
export function partBar(part, label, width = 860) {
  return picture(`0 0 ${width} 10`, label, part === null ? rect('', 0, width, { fill: 'url(#hatch)' }) : [rect('f-track', 0, width), rect('f-says', 0, Math.min(1, part) * width)]);
}

// parts of money, always in this order.
const kinds = [['paid', 'f-proof'], ['served', null], ['reserved', 'f-reserved'], ['returned', 'k-edge']];

// split are the places of amounts on a bar that is so wide.
export function split(amounts, width) {
  const all = kinds.map(([name, cls]) => ({ name, cls, value: Number(micro(amounts[name] ?? '0') ?? 0n) }));
  const whole = all.reduce((n, p) => n + p.value, 0) || 1;
  let from = 0;
  return all.map((p) => {
    const place = { ...p, x: from, width: (p.value / whole) * width };
    from += place.width;
    return place;
  }).filter((p) => p.value > 0);
}

// moneyParts draws amounts as parts of a bar.
export const moneyParts = (amounts, width, y, height, whole = '') => split(amounts, width).map((p) => {
  if (p.name === 'returned') return svg('rect', { class: 'k-edge', fill: 'none', x: (p.x + 0.5).toFixed(1), y: y + 0.5, width: Math.max(0, p.width - 1).toFixed(1), height: height - 1, rx: 3 });
  return svg('rect', { class: p.cls ?? whole, fill: p.cls ? null : 'url(#hatch-p)', x: p.x.toFixed(1), y, width: p.width.toFixed(1), height, rx: p.name === 'served' ? 0 : 3 });
});

// moneyBar shows amounts as parts of a whole.
export const moneyBar = (amounts, width = 168, height = 10) => svg('svg', { class: 'full', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': kinds.filter(([n]) => micro(amounts[n] ?? '0') > 0n).map(([n]) => `${n} ${dollars(amounts[n])}`).join(', ') || 'nothing' }, moneyParts(amounts, width, 0, height));

// spark is a line without axes, beside the figure that it explains.
export function spark(values, width = 72, height = 28) {
  const known = values.filter((v) => v !== null);
  if (known.length < 2) return svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' });
  const [min, max] = [Math.min(...known), Math.max(...known)];
  const at = (v, i) => [1 + (i * (width - 5)) / (values.length - 1), max === min ? height / 2 : 4 + ((max - v) / (max - min)) * (height - 8)];
  const d = values.map((v, i) => (v === null ? '' : `${i === 0 || values[i - 1] === null ? 'M' : 'L'}${at(v, i).map((n) => n.toFixed(1)).join(' ')}`)).join('');
  const last = values.findLastIndex((v) => v !== null);
  const [cx, cy] = at(values[last], last);
  return svg('svg', { class: 'spark', viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' }, svg('path', { class: 'ln s5', d }), svg('circle', { class: 'd5', cx: cx.toFixed(1), cy: cy.toFixed(1), r: 2.2 }));
}

// identicon is a small picture of an address: the same for the same one.
export function identicon(address) {
  let h = 2166136261;
  const bits = [...address].flatMap((c) => {
    h = Math.imul(h ^ c.charCodeAt(0), 16777619);
    return [h >>> 30 & 1];
  }).slice(-15);
  const d = bits.map((on, i) => {
    const [x, y] = [i % 3, Math.floor(i / 3)];
    return on ? `M${x} ${y}h1v1h-1z${x < 2 ? `M${4 - x} ${y}h1v1h-1z` : ''}` : '';
  }).join('');
  return svg('svg', { width: 16, height: 16, viewBox: '-.5 -.5 6 6', 'aria-hidden': 'true' }, svg('rect', { class: 'f-track', x: -0.5, y: -0.5, width: 6, height: 6, rx: 1.2 }), svg('path', { class: 'f-proof', d }));
}
