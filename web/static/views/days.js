// What was earned by day: a bar for each, and a table.
import { el, fill } from '../dom.js';
import { card, seg } from '../parts.js';
import { dollars, money, sum } from '../show.js';
import { table } from '../table.js';

const daySeconds = 86_400;

// filled are the days up to today, those without anything included.
function filled(days, most) {
  const by = new Map(days.map((d) => [d.day, Number(d.settled)]));
  const today = Math.floor(Date.now() / 1000 / daySeconds) * daySeconds;
  const at = Array.from({ length: most }, (_, i) => today - (most - 1 - i) * daySeconds);
  return [at, at.map((t) => by.get(new Date(t * 1000).toISOString().slice(0, 10)) ?? 0)];
}

// earnedIn is what was settled in the last days.
export const earnedIn = (days, most) => {
  const from = new Date(Date.now() - most * daySeconds * 1000).toISOString().slice(0, 10);
  return sum(days.filter((d) => d.day > from).map((d) => d.settled));
};

// byDay is a card that show fills with days: { day, settled, leases }, the newest first.
export function byDay(signal) {
  const body = el('div', { class: 'body' });
  let days = [];
  let most = 30;
  const draw = async () => {
    if (days.length === 0) {
      fill(body, el('p', { class: 't2' }, 'Nothing was settled yet.'));
      return;
    }
    const { plot } = await import('../plot.js');
    if (signal.aborted) return;
    const p = plot({ name: 'Earned', label: 'Earned by day', lines: [{ name: 'Earned', colour: 'proof', fill: true }], bars: true, height: 180, signal, unit: (v) => (v > 0 && v < 0.05 ? `$${Number(v.toPrecision(2))}` : dollars(v.toFixed(2))), text: ([v]) => (v === null ? '–' : dollars(v.toFixed(6))) });
    fill(body, p.figure, el('details', { class: 'small' }, el('summary', {}, 'Exact, by day'), table('Earned by day', 'What was settled, the market’s fee taken off; days in UTC.', ['Day', 'Earned #', 'Leases #'], days.map((d) => [d.day, money(d.settled), d.leases]))));
    p.show(filled(days, most));
  };
  const part = card({ name: 'Earnings', end: [el('span', { class: 'hide-s' }, 'settled, after the market’s fee'), seg('Time of the earnings', [[7, '7 d'], [30, '30 d'], [365, '1 y']], most, (n) => {
    most = n;
    draw();
  })] }, body);
  return { part, show: (all) => {
    if (JSON.stringify(all) === JSON.stringify(days) && body.firstChild) return;
    days = all;
    draw();
  } };
}
