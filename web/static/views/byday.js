// The checks of machines by day and of all by hour, as the server has counted them.
import { get } from '../api.js';
import { el, svg } from '../dom.js';
import { strip } from '../figures.js';
import { isAddress } from '../parts.js';
import { clock, day, nb, passing, percent, plural, three } from '../show.js';

const daySeconds = 86_400;
// most is how many machines a view asks for, perRequest how many the server takes at once; after keptFor they are asked for again.
const most = 90;
const perRequest = 30;
const keptFor = 600_000;

// kept are the machines that were asked for: { since, days, until } by address.
const kept = new Map();

// readDays asks for machines that are not known yet, and says whether something is new. A server that does not count is no error.
export async function readDays(addresses, signal) {
  const missing = [...new Set(addresses)].filter((a) => isAddress(a) && !(kept.get(a)?.until > Date.now())).slice(0, most);
  let known = false;
  for (let i = 0; i < missing.length; i += perRequest) known = await readSome(missing.slice(i, i + perRequest), signal) || known;
  return known;
}

// readSome asks for machines in one request.
async function readSome(missing, signal) {
  let answer;
  try {
    answer = await get(`/v1/checks/days?${new URLSearchParams({ nodes: missing.join(','), days: 90 })}`, signal);
  } catch {
    answer = { since: 0, machines: [] };
  }
  for (const a of missing) kept.set(a, { since: answer.since, days: answer.machines.find((m) => m.node === a)?.days ?? [], until: Date.now() + keptFor });
  return answer.machines.some((m) => m.days.length > 0);
}

// counted reports whether something is known of a machine by day.
export const counted = (address) => kept.get(address)?.days.length > 0;

// ofChecks says which share of checks passed.
export const ofChecks = (passed, total) => `${passing(passed, total)} of ${plural(total, 'check')}`;
const wordsOf = (d) => `${ofChecks(d.passed, d.total)} passed`;

// dayStrip shows what is known of a machine's last days; null where that is nothing.
export function dayStrip(address, count, width) {
  const k = kept.get(address);
  if (!k || k.days.length === 0) return null;
  const by = new Map(k.days.map((d) => [d.at, d]));
  const today = Math.floor(Date.now() / 1000 / daySeconds) * daySeconds;
  const all = Array.from({ length: count }, (_, i) => {
    const at = today - (count - 1 - i) * daySeconds;
    const d = by.get(at);
    return d?.total > 0 ? { part: (d.passed / d.total) * 100, text: `${day(at)}: ${wordsOf(d)}` } : { part: null, text: `${day(at)}: not known` };
  });
  const known = all.filter((d) => d.part !== null);
  return strip(all, `Checks passed by day, ${known.length} of ${count} days known${known.length ? `, the worst day ${percent(Math.min(...known.map((d) => d.part)))}` : ''}`, width);
}

// since says from when on the server counts, where that is less than the days that are shown.
export function since(address, count) {
  const s = kept.get(address)?.since;
  return s > Date.now() / 1000 - count * daySeconds ? `checks by day, since ${day(s)}` : `checks by day, last ${count}${nb}days`;
}

// hourBars are checks by hour: what passed, and below it what failed; hours of which nothing is known are empty.
export function hourBars(hours, width = 290, height = 84) {
  const now = Math.floor(Date.now() / 3_600_000) * 3600;
  const by = new Map(hours.map((h) => [h.at, h]));
  const all = Array.from({ length: 24 }, (_, i) => ({ at: now - (23 - i) * 3600, ...by.get(now - (23 - i) * 3600) }));
  const top = Math.max(1, ...all.map((h) => h.total ?? 0));
  const step = width / 24;
  const bars = all.flatMap((h, i) => {
    const at = { x: (i * step).toFixed(1), width: (step * 0.7).toFixed(1), rx: 1.5 };
    const title = svg('title', {}, `${clock(h.at)}: ${h.total > 0 ? wordsOf(h) : h.total === 0 ? 'no report' : 'not known'}`);
    if (!(h.total > 0)) return svg('rect', { ...at, class: 'f-none', y: height - 2, height: 2 }, title);
    const [whole, bad] = [Math.max(3, (h.total / top) * height), h.total > h.passed ? Math.max(3, ((h.total - h.passed) / top) * height) : 0];
    const good = Math.max(0, whole - bad - (bad && 1));
    return [good > 0 && svg('rect', { ...at, class: 'f-proof', y: (height - whole).toFixed(1), height: good.toFixed(1) }, title), bad > 0 && svg('rect', { ...at, class: 'f-bad', y: (height - bad).toFixed(1), height: bad.toFixed(1) }, svg('title', {}, `${clock(h.at)}: ${h.total - h.passed} failed`))];
  }).filter(Boolean);
  const sum = (f) => all.reduce((n, h) => n + (f(h) ?? 0), 0);
  return el('div', { class: 'stack' }, svg('svg', { class: 'full', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Checks by hour, last 24 hours: ${three(sum((h) => h.total))}, ${sum((h) => h.total - h.passed)} failed` }, bars),
    el('div', { class: 'row between tiny t3' }, el('span', {}, '24 h ago'), el('span', {}, 'now')));
}
