// The keepers: what each weighs and has missed, the reports that they have voted on, and whom it has cost stake.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { short, when } from '../show.js';

const code = (text) => text && el('code', {}, text);

// table shows rows of cells; a head that ends with # is of numbers.
function table(name, caption, heads, rows) {
  const number = heads.map((h) => h.endsWith('#'));
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': name }, el('table', {}, el('caption', {}, caption),
    el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', { scope: 'col', class: number[i] && 'number' }, h.replace('#', ''))))),
    el('tbody', {}, rows.map((r) => el('tr', {}, r.map((c, i) => el(i === 0 ? 'th' : 'td', { scope: i === 0 && 'row', class: number[i] && 'number' }, c)))))));
}

// votes says which root has which weight, and by whom.
const votes = (r) => el('ul', {}, r.candidates.map((c) => el('li', {}, code(c.root.slice(0, 12)), ` ${c.weight} GNT, by `, c.voters.map(short).join(', '))));

export async function keepers({ root, signal, every }) {
  const body = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Keepers'),
    el('p', {}, 'Keepers award orders, check machines and vote the report of each period. A report is final when more than two thirds of the weight has voted for one root.'), body);
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
      el('h2', {}, 'Faults'),
      k.faults.length === 0 ? el('p', {}, 'No fault is open. Those of the past are in their nodes’ history: ', code('gantry audit slash NODE'), '.')
        : table('Faults', 'That are open.', ['Fault', 'Node', 'Cause', 'What', 'State', 'Period #', 'Stake, GNT #', 'Takes effect', 'Voted for its appeal, GNT #'],
          k.faults.map((f) => [code(short(f.address)), code(short(f.node)), f.cause, f.flags.join(', '), f.state, f.period, f.amount, when(f.applicableAt), `${f.appealWeight} of ${f.totalWeight}`])));
  };
  await load();
  every(4000, load);
}
