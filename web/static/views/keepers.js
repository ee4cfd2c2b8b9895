// The keepers: what each weighs and has missed, the reports that they have voted on, and whom it has cost stake.
import { get } from '../api.js';
import { code, el, fill } from '../dom.js';
import { problem, short, when } from '../show.js';
import { table } from '../table.js';
import { faultTable, pastTable } from './faults.js';

// votes says which root has which weight, and by whom.
const votes = (r) => el('ul', {}, r.candidates.map((c) => el('li', {}, code(c.root.slice(0, 12)), ` ${c.weight} GNT, by `, c.voters.map(short).join(', '))));

export async function keepers({ root, signal, every }) {
  const body = el('div');
  const past = el('div', {}, el('h2', {}, 'Past slashes'), el('p', { role: 'status' }, 'Reading them from the cluster.'));
  root.append(el('h1', { tabindex: -1 }, 'Keepers'),
    el('p', {}, 'Keepers award orders, check machines and vote the report of each period. A report is final when more than two thirds of the weight has voted for one root.'), body, past);
  let shown = '';
  const load = async () => {
    const k = await get('/page/keepers', signal);
    const now = JSON.stringify(k);
    if (now === shown) return;
    shown = now;
    fill(body,
      table('Keepers', 'All keepers of the market.', ['Wallet', 'State', 'Bond, GNT #', 'Weight, GNT #', 'Votes #', 'Misses #', 'Missed since its last vote #', 'Last voted on #', 'Since'],
        k.keepers.map((x) => [code(short(x.wallet)), x.status, x.bond, x.weight, x.votes, x.misses, x.missedReports, x.lastVotePeriod, when(x.registeredAt)])),
      el('h2', {}, 'Reports'),
      table('Reports', 'The newest first. Older ones are closed.', ['Period', 'State', 'Final', 'Votes, by root', 'All weight, GNT #'],
        k.reports.map((r) => [r.period, r.status, when(r.finalisedAt), votes(r), r.totalWeight])),
      el('h2', {}, 'Open faults'),
      k.faults.length === 0 ? el('p', {}, 'No fault is open.') : faultTable(k.faults, 'That are open: not applied yet, or with compensation to be claimed.'));
  };
  await load();
  every(4000, load);
  const slashes = async () => {
    try {
      const all = await get('/v1/slashes', signal);
      const now = JSON.stringify(all);
      if (now !== slashed) fill(past, el('h2', {}, 'Past slashes'), all.slashes.length === 0 ? el('p', {}, all.whole ? 'Nobody was slashed yet, as far as the cluster’s node remembers.' : 'None among the last payouts.') : pastTable(all));
      slashed = now;
    } catch (err) {
      if (!signal.aborted && !slashed) fill(past, el('h2', {}, 'Past slashes'), problem(err));
    }
  };
  let slashed = '';
  slashes();
  every(60_000, slashes);
}
