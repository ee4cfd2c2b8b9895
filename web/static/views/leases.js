// The leases of the customer, and what is left of its credits.
import { get } from '../api.js';
import { el, fill, simulated } from '../dom.js';
import { address, empty, state, stats } from '../parts.js';
import { leaseMoney, texts } from '../money.js';
import { money, nb, span, when } from '../show.js';
import { called, gpusText } from './rename.js';
import { stopButton } from './stop.js';

// credits shows an account's figures.
export const credits = (a) => stats('Credits', ['Free credits', money(a.free)], ['Reserved', money(a.reserved)], ['Balance', money(a.balance)], ['Left of the session key’s cap', money(a.session.left)]);

const heads = [['Lease'], ['State'], ['Price', 'n'], ['Used', 'n'], ['Reserved', 'n'], ['Time left'], ['Started'], ['Stop', 'n']];

function row(l, failure, load) {
  const m = leaseMoney(l);
  const t = m && texts(m);
  return el('tr', {}, el('th', { scope: 'row' }, el('a', { class: 'main', href: `#/lease/${encodeURIComponent(l.address)}`, 'data-key': `lease-${l.address}` }, called(l)), ' ', l.simulated && simulated(), el('div', { class: 'sub' }, l.name && `${gpusText(l)} · `, address(l.address, 'lease'))),
    el('td', {}, state(l.status, l.endReason && ` (${l.endReason})`)), el('td', { class: 'n' }, money(l.pricePerGpuHour), el('span', { class: 't3 tiny' }, `${nb}/h`)),
    el('td', { class: 'n' }, t ? money(t.used) : '–'), el('td', { class: 'n' }, t ? money(t.back) : '–'),
    el('td', {}, l.status === 'running' ? span(l.fundedUntil - l.startedAt - l.usedSeconds - l.downtimeSeconds) : '–'), el('td', {}, when(l.startedAt)), el('td', { class: 'n' }, stopButton(l, failure, load)));
}

export async function leases({ root, signal, every }) {
  const top = el('div');
  const failure = el('div');
  const list = el('div');
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Leases')), el('a', { class: 'btn act', href: '#/deploy' }, 'Deploy')), top, failure, list);
  let shown = '';
  const load = async (anew) => {
    const [status, all] = await Promise.all([get('/v1/status', signal), get('/v1/leases', signal)]);
    const now = JSON.stringify([status.account, all]);
    if (now === shown && anew !== true) return;
    shown = now;
    fill(top, credits(status.account));
    fill(list, all.leases.length === 0
      ? empty('No leases yet', 'Rent a GPU by the second. What you do not use comes back.', el('a', { class: 'btn', href: '#/market' }, 'See prices'))
      : el('div', { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': 'Leases' }, el('table', { class: 'tbl' }, el('caption', {}, 'The newest first.'),
        el('thead', {}, el('tr', {}, heads.map(([text, cls]) => el('th', { scope: 'col', class: cls }, text === 'Stop' ? el('span', { class: 'unseen' }, text) : text)))), el('tbody', {}, all.leases.map((l) => row(l, failure, load))))));
  };
  await load();
  every(3000, load);
}
