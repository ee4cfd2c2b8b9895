// Where the server works, for whom, and by which rules.
import { get } from '../api.js';
import { describe, el, fill } from '../dom.js';
import { usdc, when } from '../show.js';
import { money } from './leases.js';

export async function status({ root, signal, every }) {
  const body = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Status'), body);
  const m = await get('/v1/market', signal);
  const load = async () => {
    const s = await get('/v1/status', signal);
    const code = (text) => el('code', {}, text);
    const test = s.cluster.name !== 'mainnet-beta';
    fill(body,
      el('h2', {}, 'Cluster'),
      describe(['Name', s.cluster.name], ['', test && 'This is a network for tests: its money is worth nothing, and machines that are marked as simulated have no GPUs.'],
        ['Time on it', when(s.cluster.time)], ['Slot', s.cluster.slot], ['Asked at', s.cluster.nodes.join(', ')], ['Genesis', code(s.cluster.genesis)],
        ['Program', code(s.cluster.program)], ['Account layout', s.cluster.accountLayout], ['Server', s.version]),
      el('h2', {}, 'Wallet'),
      money(s.account),
      describe(['Customer', code(s.account.customer)], ['Live orders', s.account.liveOrders], ['Live leases', s.account.liveLeases],
        ['Session key', code(s.account.session.key)], ['Its cap', usdc(s.account.session.cap)], ['Expires', when(s.account.session.expires)]),
      el('h2', {}, 'Market'),
      describe(['Paused', m.paused.length ? m.paused.join(', ') : 'nothing'], ['Keepers', m.keepers], ['Address', code(m.address)],
        ['Models', m.models.map((x) => x.name).join(', ')]));
  };
  await load();
  every(5000, load);
}
