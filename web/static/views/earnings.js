// What an owner's machines have earned by day, from their last transactions.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { stats } from '../parts.js';
import { money, sum } from '../show.js';
import { byDay, earnedIn } from './days.js';
import { owner } from './owner.js';

// most is how many machines are read: each takes some hundred transactions.
const most = 8;

// added sums the days of machines up, the newest first.
function added(records) {
  const by = new Map();
  for (const d of records.flatMap((r) => r.days)) {
    const [settled, leases] = by.get(d.day) ?? [[], 0];
    by.set(d.day, [[...settled, d.settled], leases + d.leases]);
  }
  return [...by].sort(([a], [b]) => b.localeCompare(a)).map(([day, [settled, leases]]) => ({ day, settled: sum(settled), leases }));
}

export async function earnings(view) {
  const { root, signal } = view;
  const { form, p, instead } = await owner({ ...view, view: 'earnings' });
  const body = el('div', { class: 'gap' });
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Earnings'))), body, form);
  if (!p) {
    fill(body, instead);
    return;
  }
  const days = byDay(signal);
  const said = el('p', { class: 't3 small', role: 'status' }, 'Reading the transactions of its machines.');
  const short = el('div');
  const records = [];
  const draw = () => {
    const all = added(records);
    fill(short, stats('In short', ['Earned, 30 days', money(earnedIn(all, 30)), 'settled, after the market’s fee'], ['Served, not paid yet', money(sum([p.earned.claimed, p.earned.unclaimed])), 'at most']));
    days.show(all);
  };
  fill(body, short, days.part, said);
  for (const m of p.machines.slice(0, most)) { // one after the other: the server reads two histories at once
    records.push(await get(`/v1/nodes/${encodeURIComponent(m.address)}`, signal));
    draw();
  }
  draw();
  fill(said, `Settled, the market’s fee taken off, by ${records.length} of ${p.machines.length} machines, as far as the cluster’s node has their transactions.`);
}
