// Where the server works, for whom, and by which rules.
import { get } from '../api.js';
import { code, describe, el, figure, fill } from '../dom.js';
import { plural, span, usdc, when } from '../show.js';
import { history } from './history.js';
import { money } from './leases.js';

export async function status({ root, signal, every }) {
  const body = el('div');
  const top = el('div');
  const charts = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Status'), top, charts, body);
  const m = await get('/v1/market', signal);
  charts.append(history(m.models.map((x) => x.name), signal));
  const load = async () => {
    const [s, n] = await Promise.all([get('/v1/status', signal), get('/v1/statistics', signal)]);
    const test = s.cluster.name !== 'mainnet-beta';
    fill(top, el('h2', {}, 'Market'), statistics(n));
    fill(body,
      el('h2', {}, 'Cluster'),
      describe(['Name', s.cluster.name], ['', test && 'This is a network for tests: its money is worth nothing, and machines that are marked as simulated have no GPUs.'],
        ['Time on it', when(s.cluster.time)], ['Slot', s.cluster.slot], ['Asked at', s.cluster.nodes.join(', ')], ['Genesis', code(s.cluster.genesis)],
        ['Program', code(s.cluster.program)], ['Account layout', s.cluster.accountLayout], ['Server', s.version]),
      el('h2', {}, 'Wallet'),
      money(s.account),
      describe(['Customer', code(s.account.customer)], ['Live orders', s.account.liveOrders], ['Live leases', s.account.liveLeases],
        ['Session key', code(s.account.session.key)], ['Its cap', usdc(s.account.session.cap)], ['Expires', when(s.account.session.expires)]),
      el('h2', {}, 'Rules'),
      describe(['Paused', m.paused.length ? m.paused.join(', ') : 'nothing'], ['Keepers', m.keepers], ['Address', code(m.address)],
        ['Models', m.models.map((x) => x.name).join(', ')]));
  };
  await load();
  every(5000, load);
}

// statistics shows how much of the market is used, and what it asks.
function statistics(n) {
  const heads = [['GPU'], ['Machines', 'taking orders'], ['GPUs'], ['Leased'], ['Lowest ask', 'USDC/GPU-hour'], ['Median ask', 'USDC/GPU-hour'], ['Median uptime', '%']];
  const cells = (m) => [`${m.activeNodes} of ${m.nodes}`, m.gpus, `${m.leasedGpus} (${m.utilisationPercent} %)`, m.lowestAsk ?? 'none free', m.medianAsk ?? '–', m.medianUptimePercent ?? '–'];
  return [el('div', { class: 'figures' }, figure('GPUs', n.total.gpus), figure('Leased', `${n.total.leasedGpus} (${n.total.utilisationPercent} %)`),
    figure('Machines that take orders', `${n.total.activeNodes} of ${n.total.nodes}`),
    figure('Median uptime', n.total.medianUptimePercent ? `${n.total.medianUptimePercent} %` : 'no machine takes orders'),
    figure('Median time to start', n.starts.medianSeconds === undefined ? 'no lease to tell it by' : `${span(n.starts.medianSeconds)}, of ${plural(n.starts.leases, 'lease')}`)),
  el('p', { class: 'note' }, 'Leased, of all GPUs of machines that take orders. The time to start is from the award to the machine’s start, of leases that are not closed. Uptime is each machine’s own, by the keepers’ reports.'),
  el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'GPU models' }, el('table', {}, el('caption', {}, 'By GPU model, as its machines are now.'),
    el('thead', {}, el('tr', {}, heads.map(([h, unit], i) => el('th', { scope: 'col', class: i > 0 && 'number' }, h, unit && el('div', { class: 'note' }, unit))))),
    el('tbody', {}, n.models.map((m) => el('tr', {}, el('th', { scope: 'row' }, m.model), cells(m).map((c) => el('td', { class: 'number' }, c)))))))];
}
