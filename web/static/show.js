// How figures, times and errors are written: one function each. A number and its unit never part.
import { el } from './dom.js';

export const nb = '\u00a0';

// micro reads a decimal amount as millionths, exactly; null for what is none.
export function micro(text) {
  const m = /^(\d+)(?:\.(\d{0,6}))?$/.exec(String(text).trim());
  return m ? BigInt(m[1]) * 1_000_000n + BigInt((m[2] ?? '').padEnd(6, '0')) : null;
}

// amount writes millionths with at least two decimals.
export function amount(n) {
  const sign = n < 0n ? '-' : '';
  const digits = String(n < 0n ? -n : n).padStart(7, '0');
  const rest = digits.slice(-6).replace(/0{1,4}$/, '');
  return `${sign}${digits.slice(0, -6)}.${rest}`;
}

// sum adds amounts up, exactly.
export const sum = (texts) => amount(texts.reduce((n, t) => n + (micro(t) ?? 0n), 0n));

// cost is price × GPUs × seconds / 3600, rounded down, as the program reckons it; all in millionths of USDC.
export const cost = (price, gpus, seconds) => (price * BigInt(gpus) * BigInt(seconds)) / 3600n;

// reserved is what an order holds of the credits: a short one also pays for the time that a machine may wait for the job.
export const reserved = (market, price, gpus, seconds) => cost(micro(price), gpus, Math.max(seconds, market.params.startDeadlineSecs));

const thousands = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ',');

// grouped writes a decimal with separators between thousands.
function grouped(text) {
  const [whole, rest] = text.split('.');
  return rest === undefined ? thousands(whole) : `${thousands(whole)}.${rest}`;
}

// usdc writes an amount with the token's name: in wallets, for what is signed, and for the API.
export const usdc = (text) => `${micro(text) === null ? text : grouped(amount(micro(text)))}${nb}USDC`;

// exact writes an amount of dollars to the last unit.
export const exact = (text) => (micro(text) === null ? String(text) : `$${grouped(amount(micro(text)))}`);

// dollars writes an amount with two decimals; what is less than a cent and not nothing says so.
export function dollars(text) {
  const n = micro(text);
  if (n === null) return String(text);
  if (n > 0n && n < 10_000n) return `<${nb}$0.01`;
  const cents = (n + 5_000n) / 10_000n;
  return `$${grouped(`${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`)}`;
}

// money is an amount of which the rest is shown on hover.
export const money = (text, ...after) => el('span', { title: exact(text) }, dollars(text), after);

// change writes what was added or taken away.
export const change = (sign, text) => `${sign < 0 ? '\u2212' : '+'}${exact(text)}`;

// perHour is a price of an hour.
export const perHour = (text) => `${dollars(text)}${nb}/h`;

// three writes a number with three significant digits at most, but no digit before the point less.
export function three(value) {
  const n = Number(value);
  if (!Number.isFinite(n)) return '–';
  if (n === 0) return '0';
  return grouped(Math.abs(n) >= 100 ? n.toFixed(0) : String(Number(n.toPrecision(3))));
}

// percent writes a part without decimals. What is more than nothing is never 0.
export function percent(value) {
  const n = Number(value);
  return n > 0 && n < 1 ? `<${nb}1${nb}%` : `${Math.round(n)}${nb}%`;
}

// passing writes which part of checks has passed, rounded down: only all of them are 100 %.
export function passing(passed, all) {
  const part = (passed / all) * 100;
  return part < 99 || passed === all ? percent(part) : `${Math.floor(part * 100) / 100}${nb}%`;
}

// uptime writes a part with two decimals, of which the last ones are left out when they are zeros.
export const uptime = (value) => `${Number(Number(value).toFixed(2))}${nb}%`;

// memory writes MiB as GiB or TiB.
export const memory = (mib) => (mib >= 1 << 20 ? `${three(mib / (1 << 20))}${nb}TiB` : `${three(mib / 1024)}${nb}GiB`);

// bytes writes the size of a file or an image.
export function bytes(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const i = n < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(n) / 10));
  return `${three(n / 1024 ** i)}${nb}${units[i]}`;
}

// line writes the rates of a network in one unit.
export function line(down, up) {
  const all = [down, up].map(Number);
  const giga = Math.max(...all) >= 1000;
  const [d, u] = all.map((n) => three(giga ? n / 1000 : n));
  return `${d}${nb}↓ ${u}${nb}↑${nb}${giga ? 'Gb/s' : 'Mb/s'}`;
}

export const short = (address) => (address.length > 12 ? `${address.slice(0, 4)}…${address.slice(-4)}` : address);

// span writes a time in its two largest units; below two minutes in seconds.
export function span(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 120) return `${s}${nb}s`;
  const [d, h, m] = [Math.floor(s / 86400), Math.floor((s % 86400) / 3600), Math.floor((s % 3600) / 60)];
  const parts = [[d, 'd'], [h, 'h'], [m, 'min']];
  const first = parts.findIndex(([n]) => n > 0);
  return parts.slice(first, first + 2).filter(([n]) => n > 0).map(([n, unit]) => `${n}${nb}${unit}`).join(' ');
}

// at writes a moment to the second.
export function at(seconds) {
  const t = new Date(seconds * 1000);
  return `${t.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })}, ${t.toLocaleTimeString('en-GB', { timeZone: 'UTC' })} UTC`;
}

// clock and day are in the time of the browser, or in that of a zone.
export const clock = (seconds, withSeconds = false, timeZone = undefined) => new Date(seconds * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', second: withSeconds ? '2-digit' : undefined, timeZone });

export const day = (seconds, timeZone = undefined) => new Date(seconds * 1000).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone });

const moment = (seconds, text) => el('time', { datetime: new Date(seconds * 1000).toISOString(), title: at(seconds) }, text);

// when shows a moment; nothing for none.
export const when = (seconds) => (Number.isFinite(seconds) && seconds ? moment(seconds, `${day(seconds)}, ${clock(seconds)}`) : '');

export const plural = (n, what) => `${n}${nb}${what}${n === 1 ? '' : 's'}`;

// problem shows an error as the API has written it, or one of the page under a title.
export function problem(err, title = 'Something is wrong with this page') {
  const b = err.body ?? { title, detail: String(err?.message ?? err) };
  return el('div', { class: 'problem-c', role: 'alert' },
    el('div', {}, el('p', { class: 'medium' }, b.title ?? 'Error'), el('p', {}, b.detail ?? ''),
      b.nextStep && el('p', { class: 't2' }, 'Next: ', b.nextStep),
      b.program && el('p', { class: 't2 small' }, `The market program’s error: ${b.program} (${b.code})`),
      Array.isArray(b.errors) && el('ul', {}, b.errors.map((e) => el('li', {}, [e.location, e.message].filter(Boolean).join(': '))))));
}
