// The keepers: what each weighs and has missed, and the reports that they have voted on.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { address, stats } from '../parts.js';
import { plural, when } from '../show.js';
import { table } from '../table.js';

// votes says which root has which weight, and by whom.
const votes = (r) => el('ul', { class: 'stack' }, r.candidates.map((c) => el('li', { class: 'row wrap tight' }, el('code', { title: c.root }, c.root.slice(0, 12)), ` ${c.weight} GNT, by `, c.voters.map((v) => address(v, 'keeper')))));

export async function keepers({ root, signal, every }) {
  const body = el('div', { class: 'gap' });
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Keepers'),
    el('p', {}, 'Keepers award orders, check machines and vote the report of each period. A report is final when more than two thirds of the weight has voted for one root.'))), body);
  let shown = '';
  const load = async () => {
    const k = await get('/page/keepers', signal);
    const now = JSON.stringify(k);
    if (now === shown) return;
    shown = now;
    fill(body,
      stats('In short', ['Keepers', k.keepers.length], ['Active', k.keepers.filter((x) => x.status === 'active').length], ['Reports shown', k.reports.length], ['Final', k.reports.filter((r) => r.status === 'final').length], ['Open faults', el('a', { class: 'link', href: '#/slashes' }, plural(k.faults.length, 'fault'))]),
      table('Keepers', 'All keepers of the market.', ['Wallet', 'State', 'Bond, GNT #', 'Weight, GNT #', 'Votes #', 'Misses #', 'Missed since its last vote #', 'Last voted on #', 'Since'],
        k.keepers.map((x) => [address(x.wallet, 'keeper'), el('span', { class: x.status === 'active' ? 'state run' : 'state' }, x.status), x.bond, x.weight, x.votes, x.misses, x.missedReports, x.lastVotePeriod, when(x.registeredAt)])),
      table('Reports', 'Reports of periods, the newest first. Older ones are closed.', ['Period', 'State', 'Final', 'Votes, by root', 'All weight, GNT #'],
        k.reports.map((r) => [r.period, r.status, when(r.finalisedAt), votes(r), r.totalWeight])));
  };
  await load();
  every(4000, load);
}
