// The sentences of an audit's steps: addresses in short, with a copy of the whole, and moments as the page writes them, in UTC.
import { el } from '../dom.js';
import { address, isAddress } from '../parts.js';
import { at, clock, day, nb, short } from '../show.js';

const pattern = /(gantry [a-z ]+ [1-9A-HJ-NP-Za-km-z]{32,44}\b|\b[1-9A-HJ-NP-Za-km-z]{32,44}\b|\b[0-9a-f]{64}\b|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)/;

export const utcDay = (seconds) => day(seconds, 'UTC');

export const utcClock = (seconds, withSeconds = false) => clock(seconds, withSeconds, 'UTC');

// whatOf is what an address is, by the word before it.
const whatOf = (before) => /(keeper|machine|node|lease|order|finder) $/.exec(before)?.[1] ?? 'address';

function moment(text, stepAt) {
  const t = Date.parse(text.replace(' UTC', 'Z').replace(' ', 'T')) / 1000;
  if (!Number.isFinite(t)) return text;
  const same = Number.isFinite(stepAt) && utcDay(t) === utcDay(stepAt);
  return el('time', { datetime: new Date(t * 1000).toISOString(), title: at(t) }, same ? `${utcClock(t, true)}${nb}UTC` : at(t));
}

const within = (e) => {
  e.classList.add('in');
  return e;
};

// sentence is the text of a step. Times on the day of the step, stepAt, do not repeat the day.
export function sentence(text, stepAt) {
  const parts = String(text).split(pattern);
  return parts.map((part, i) => {
    if (i % 2 === 0) return part.replace(/(\d) (s|min|h|d)\b/g, `$1${nb}$2`);
    if (part.startsWith('gantry ')) return el('code', {}, part);
    if (/^[0-9a-f]{64}$/.test(part)) return within(address(part, 'hash', { name: short(part) }));
    if (!isAddress(part)) return moment(part, stepAt);
    const what = whatOf(parts[i - 1]);
    return within(address(part, what, ['machine', 'node'].includes(what) ? { href: `#/machine/${encodeURIComponent(part)}` } : {}));
  });
}
