// How figures, times and errors are written.
import { el } from './dom.js';

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

// cost is price × GPUs × seconds / 3600, rounded down, as the program reckons it; all in millionths of USDC.
export const cost = (price, gpus, seconds) => (price * BigInt(gpus) * BigInt(seconds)) / 3600n;

// reserved is what an order holds of the credits: a short one also pays for the time that a machine may wait for the job.
export const reserved = (market, price, gpus, seconds) => cost(micro(price), gpus, Math.max(seconds, market.params.startDeadlineSecs));

// usdc writes an amount without the zeros that say nothing.
export const usdc = (text) => `${micro(text) === null ? text : amount(micro(text))} USDC`;

export const short = (address) => (address.length > 12 ? `${address.slice(0, 4)}…${address.slice(-4)}` : address);

export const when = (seconds) => (seconds ? new Date(seconds * 1000).toLocaleString() : '');

export function span(seconds) {
  const h = Math.floor(seconds / 3600);
  const m = Math.floor((seconds % 3600) / 60);
  return [h && `${h} h`, m && `${m} min`, (seconds % 60 || seconds === 0) && `${seconds % 60} s`].filter(Boolean).join(' ');
}

export const plural = (n, what) => `${n} ${what}${n === 1 ? '' : 's'}`;

// problem shows an error as the API has written it, or one of the page under a title.
export function problem(err, title = 'The page has a fault') {
  const b = err.body ?? { title, detail: String(err?.message ?? err) };
  return el('div', { class: 'problem', role: 'alert' },
    el('p', {}, el('strong', {}, b.title ?? 'Error'), ': ', b.detail ?? ''),
    b.nextStep && el('p', {}, 'Next: ', b.nextStep),
    b.program && el('p', { class: 'note' }, `The market program's error: ${b.program} (${b.code})`),
    Array.isArray(b.errors) && el('ul', {}, b.errors.map((e) => el('li', {}, [e.location, e.message].filter(Boolean).join(': ')))));
}

// sum adds amounts up, exactly.
export const sum = (texts) => amount(texts.reduce((n, t) => n + (micro(t) ?? 0n), 0n));
