// How much of the market is used, by which rules it works, and where this server asks.
import { get } from '../api.js';
import { el, fill } from '../dom.js';
import { address, inCard, stats } from '../parts.js';
import { percent, plural, span, dollars, uptime, when } from '../show.js';
import { table } from '../table.js';
import { prices } from './prices.js';

// statistics shows how much of the market is used, and what it asks.
function statistics(n) {
  const cells = (m) => [`${m.activeNodes} of ${m.nodes}`, m.gpus, `${m.leasedGpus} (${percent(m.utilisationPercent)})`, m.lowestAsk ? dollars(m.lowestAsk) : 'none free', m.medianAsk ? dollars(m.medianAsk) : '–', m.medianUptimePercent ? uptime(m.medianUptimePercent) : '–'];
  return [stats('Market', ['GPUs', n.total.gpus], ['Leased', n.total.leasedGpus, percent(n.total.utilisationPercent)], ['Machines that take orders', [n.total.activeNodes, el('small', {}, ` of ${n.total.nodes}`)]],
    ['Median uptime', n.total.medianUptimePercent ? uptime(n.total.medianUptimePercent) : '–', !n.total.medianUptimePercent && 'no machine takes orders'],
    ['Median time to start', n.starts.medianSeconds === undefined ? '–' : span(n.starts.medianSeconds), n.starts.medianSeconds === undefined ? 'no lease to tell it by' : `of ${plural(n.starts.leases, 'lease')}`]),
  table('GPU models', 'By GPU model, as its machines are now. Uptime is each machine’s own, by the keepers’ reports.', ['GPU', 'Machines that take orders #', 'GPUs #', 'Leased #', 'Lowest ask #', 'Median ask #', 'Median uptime #'], n.models.map((m) => [m.model, ...cells(m)])),
  el('p', { class: 't3 small' }, 'Leased, of all GPUs of machines that take orders. The time to start is from the award to the machine’s start, of leases that are not closed.')];
}

const pairs = (...all) => el('dl', { class: 'kv' }, all.filter(([, v]) => v).map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));

const rules = (m) => inCard({ name: 'Rules', level: 'h3' }, pairs(['Paused', m.paused.length ? m.paused.join(', ') : 'nothing'], ['Keepers', m.keepers], ['The market’s fee', `${m.params.feeBps / 100} %`], ['A period', span(m.params.periodSecs)], ['Market', address(m.address, 'market')], ['Program', address(m.program, 'program')], ['USDC is the token', address(m.paymentMint, 'token')]));

const cluster = (s) => inCard({ name: 'This server', level: 'h3' }, pairs(['Cluster', s.cluster.name], ['Time on it', when(s.cluster.time)], ['Slot', s.cluster.slot], ['Asked at', s.cluster.nodes.join(', ')], ['Genesis', address(s.cluster.genesis, 'genesis hash')], ['Account layout', s.cluster.accountLayout], ['Version', s.version],
  ['Session key', address(s.account.session.key, 'session key')], ['Its cap', dollars(s.account.session.cap)], ['Expires', when(s.account.session.expires)]));

export async function network({ root, signal, every, about }) {
  const body = el('div', { class: 'gap' });
  const aside = el('aside', { class: 'stack-16', 'aria-label': 'Rules and server' });
  const test = about.chain && about.chain !== 'solana:mainnet';
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Network'), test && el('p', {}, 'This is a network for tests: its money is worth nothing, and machines that are marked as simulated have no GPUs.'))), el('div', { class: 'lease' }, el('div', { class: 'gap' }, body, prices(signal)), aside));
  const load = async () => {
    const [n, m, s] = await Promise.all([get('/v1/statistics', signal), get('/v1/market', signal), about.public ? null : get('/v1/status', signal)]);
    fill(body, statistics(n));
    fill(aside, rules(m), s && cluster(s));
  };
  await load();
  every(5000, load);
}
