// The time and the money of a lease, on one rule.
import { el, svg } from '../dom.js';
import { moneyParts } from '../figures.js';
import { leaseMoney, texts } from '../money.js';
import { clock, exact, money, nb, span } from '../show.js';

const legend = (cls, text) => el('span', { class: 'row tight' }, cls === 'served' ? svg('svg', { width: 9, height: 9, 'aria-hidden': 'true' }, svg('rect', { width: 9, height: 9, rx: 2, fill: 'url(#hatch-p)' })) : el('span', { class: `dot-i ${cls}` }), text);

const width = 860;

// rule are the ticks of hours, and now.
function rule(l, now) {
  const whole = l.fundedUntil - l.startedAt;
  const at = (t) => ((t - l.startedAt) / whole) * width;
  const step = [60, 300, 900, 3600, 4 * 3600, 86_400, 7 * 86_400].find((s) => whole / s <= 12) ?? 30 * 86_400;
  const first = Math.ceil(l.startedAt / step) * step;
  const ticks = Array.from({ length: Math.max(0, Math.floor((l.fundedUntil - first) / step) + 1) }, (_, i) => at(first + i * step));
  const here = Math.min(width, Math.max(0, at(now)));
  return [svg('path', { class: 'k-line2', fill: 'none', d: ticks.map((x) => `M${x.toFixed(1)} 22v4`).join('') || 'M0 0' }), svg('path', { class: 'k-text', 'stroke-width': 2, d: `M${here.toFixed(1)} 1v20` })];
}

// ends are the words below the rule, in letters of the page's size at every width.
const ends = (l, now) => el('div', { class: 'row between tiny t3' }, el('span', {}, `started ${clock(l.startedAt)}`), el('span', { class: 'strong' }, `now ${clock(now)}`), el('span', {}, `money ends ${clock(l.fundedUntil)}`));

// runbar shows a lease's money; what is over has no time left.
export function runbar(l) {
  const m = leaseMoney(l);
  if (!m) return null;
  const t = texts(m);
  const running = l.status === 'running';
  const now = l.startedAt + l.usedSeconds + (l.downtimeSeconds ?? 0);
  const left = Math.max(0, (l.fundedUntil ?? 0) - now);
  return el('section', { class: 'card runbar', 'aria-label': 'Time and money' },
    el('div', {}, el('div', { class: 't3 small' }, running ? 'Time left' : 'Used'), el('div', { class: 'big' }, running ? span(left) : span(l.usedSeconds)), el('div', { class: 't3 tiny' }, running ? `of ${span(l.fundedUntil - l.startedAt)}` : 'of time that was served')),
    el('div', { class: 'stack-8' }, el('div', { class: 'row between small' }, el('span', { class: 'row wide' }, legend('paid', money(t.paid, ' paid')), legend('served', money(t.served, ' served, not paid yet')), running && legend('res', money(t.back, ' reserved'))),
      el('span', { class: 't2' }, money(l.pricePerGpuHour), `${nb}/h${l.gpus > 1 ? ` × ${l.gpus}` : ''}`)),
    svg('svg', { class: 'full', viewBox: `0 0 ${width} 26`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${exact(t.used)} of ${exact(t.whole)} used: ${exact(t.paid)} paid, ${exact(t.served)} served and not paid yet` },
      moneyParts({ paid: t.paid, served: t.served, reserved: running ? t.back : '0', returned: running ? '0' : t.back }, width, 4, 14), running && rule(l, now)), running && ends(l, now)),
    el('div', {}, el('div', { class: 't3 small' }, running ? 'If you stop now' : 'Used'), el('div', { class: 'big', 'data-money': running ? 'back' : 'used' }, money(running ? t.back : t.used)), el('div', { class: 't3 tiny' }, running ? ['comes back of ', money(t.whole)] : 'of what was reserved')));
}
