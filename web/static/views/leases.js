// The leases of the customer, and what is left of its credits.
import { get } from '../api.js';
import { el, figure, fill, simulated } from '../dom.js';
import { short, usdc, when } from '../show.js';
import { stopButton } from './stop.js';

// money shows an account's figures.
export function money(a) {
  return el('div', { class: 'figures' }, figure('Free credits', usdc(a.free)), figure('Reserved', usdc(a.reserved)),
    figure('Balance', usdc(a.balance)), figure('Left of the session key’s cap', usdc(a.session.left)));
}

export const stateOf = (l) => el('span', { class: `state-${l.status.replace(/\W/g, '')}` }, l.status, l.endReason && ` (${l.endReason})`);

const heads = [
  ['Lease'], ['State'], ['Stop'], ['GPUs'], ['Price', 'USDC/GPU-hour'], ['Cost so far', 'USDC, at most'], ['Still reserved', 'USDC'], ['Started'], ['Money lasts until'],
];

export async function leases({ root, signal, every }) {
  const top = el('div');
  const failure = el('div');
  const list = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Leases'), top, failure, list);
  let shown = '';
  const load = async (anew) => {
    const [status, all] = await Promise.all([get('/v1/status', signal), get('/v1/leases', signal)]);
    const now = JSON.stringify([status.account, all]);
    if (now === shown && anew !== true) return;
    shown = now;
    fill(top, el('p', {}, 'Wallet ', el('code', {}, all.customer)), money(status.account));
    fill(list, all.leases.length === 0
      ? el('p', {}, 'This wallet has no leases. ', el('a', { href: '#/market' }, 'Look for GPUs'), '.')
      : el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Leases' }, el('table', {},
        el('caption', {}, 'The newest first.'),
        el('thead', {}, el('tr', {}, heads.map(([t, unit]) => el('th', { scope: 'col', class: unit && 'number' }, t === 'Stop' ? el('span', { class: 'unseen' }, t) : t, unit && el('div', { class: 'note' }, unit))))),
        el('tbody', {}, all.leases.map((l) => el('tr', {},
          el('th', { scope: 'row' }, el('a', { href: `#/lease/${encodeURIComponent(l.address)}`, 'data-key': `lease-${l.address}` }, short(l.address))),
          el('td', {}, stateOf(l)), el('td', {}, stopButton(l, failure, load)), el('td', {}, `${l.gpus} × ${l.model ?? 'GPU'} `, l.simulated && simulated()),
          el('td', { class: 'number' }, l.pricePerGpuHour), el('td', { class: 'number' }, l.costAtMost), el('td', { class: 'number' }, l.reserved),
          el('td', {}, when(l.startedAt)), el('td', {}, when(l.fundedUntil))))))));
  };
  await load();
  every(3000, load);
}
