// The machines of an owner: what keepers have found of each, what to do about it, and what they earn.
import { el, fill, simulated } from '../dom.js';
import { measured, pips } from '../figures.js';
import { address, empty, marks, state, stats } from '../parts.js';
import { money, nb, percent, plural, sum, uptime, when } from '../show.js';
import { dayStrip, ofChecks, readDays, since } from './byday.js';
import { machineLink } from './offers.js';
import { owner } from './owner.js';
import { tasks } from './tasks.js';

const row = (m) => el('tr', {},
  el('td', {}, el('div', { class: 'row tight wrap' }, machineLink(m, 'own', `${m.gpus} × ${m.model}`), marks(m), m.simulated && simulated()), el('div', { class: 'sub' }, address(m.address, 'machine'))),
  el('td', {}, state(m.status), m.toDo.length > 0 && el('div', { class: 'sub warn' }, plural(m.toDo.length, 'thing'), ' to do')),
  el('td', {}, measured(m, { mark: true })),
  el('td', {}, el('div', { class: 'rel' }, dayStrip(m.address, 90, 180)), el('div', { class: 'main', title: since(m.address, 90) }, m.checksTotal > 0 ? uptime(m.uptimePercent) : '–'), el('div', { class: 'sub' }, m.checksTotal > 0 ? ofChecks(m.checksPassed, m.checksTotal) : 'no check yet')),
  el('td', {}, pips(m.gpus - m.freeGpus, m.gpus, 'leased')),
  el('td', { class: 'n' }, money(m.earned.settled), el('div', { class: 'sub' }, money(sum([m.earned.claimed, m.earned.unclaimed])), ' not paid yet')),
  el('td', { class: 'n' }, money(m.pricePerGpuHour), el('span', { class: 't3 tiny' }, `${nb}/h`)));

const list = (all) => el('div', { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': 'Machines' }, el('table', { class: 'tbl mach' }, el('caption', { class: 'unseen' }, 'Machines'),
  el('thead', {}, el('tr', {}, ['Machine', 'State', 'Measured', 'Uptime', 'Leased', 'Earned', 'Price'].map((h, i) => el('th', { scope: 'col', class: i > 4 && 'n' }, h)))), el('tbody', {}, all.map(row))));

export async function machines(view) {
  const { root, signal, every } = view;
  const body = el('div', { class: 'gap' });
  const { form, p, instead, read } = await owner({ ...view, view: 'machines' });
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Machines'), p && el('p', { class: 'meta' }, `${plural(p.machines.length, 'machine')}, ${plural(p.machines.reduce((n, m) => n + m.gpus, 0), 'GPU')}`, ' · provider ', address(p.wallet, 'provider')))), body, form);
  if (!p) {
    fill(body, instead);
    return;
  }
  const draw = (now) => {
    const [all, leased] = now.machines.reduce(([n, l], m) => [n + m.gpus, l + m.gpus - m.freeGpus], [0, 0]);
    fill(body, stats('In short', ['Earned by open leases', money(now.earned.settled), el('a', { class: 'link', href: '#/earnings' }, 'all earnings')], ['Leased now', [leased, el('small', {}, ` of ${plural(all, 'GPU')}`)], all > 0 && percent((leased / all) * 100)],
      ['Served, not paid yet', money(sum([now.earned.claimed, now.earned.unclaimed])), 'at most'], ['Stake', [now.stake, el('small', {}, ` GNT, ${now.lockedStake} needed`)]], ['Slashed', [now.slashedTotal, el('small', {}, ' GNT')], now.pendingFaults > 0 ? `${plural(now.pendingFaults, 'fault')} open` : 'no open fault']),
    tasks(now.machines, true),
    now.machines.length === 0 ? empty('No machine is registered', 'gantry-agent setup registers one.') : list(now.machines),
    el('p', { class: 't3 small' }, 'Provider since ', when(now.registeredAt), '; earnings go to ', address(now.payout, 'payout account'), '.'));
  };
  draw(p);
  readDays(p.machines.map((m) => m.address), signal).then((more) => more && !signal.aborted && draw(p));
  let shown = JSON.stringify({ ...p, at: 0 }); // at is another each second
  every(5000, async () => {
    const next = await read();
    const now = JSON.stringify({ ...next, at: 0 });
    if (now !== shown) draw(next);
    shown = now;
  });
}
