// The machines of an owner: what keepers have found of each, what to do about it, and what they earn.
import { get } from '../api.js';
import { el, figure, fill, simulated } from '../dom.js';
import { plural, problem, short, usdc, when } from '../show.js';
import { current } from '../wallet.js';
import { lookup } from './lookup.js';
import { returns } from './returns.js';

const link = (m, ...what) => el('a', { href: `#/machine/${encodeURIComponent(m.address)}`, 'data-key': `machine-${m.address}` }, what);

// stateOf is a node's status in its colour.
export const stateOf = (m) => el('span', { class: `badge state ${{ active: 'good', suspended: 'bad', retired: 'bad' }[m.status] ?? 'warn'}` }, m.status);

// tasks are what to do about a machine.
export const tasks = (m) => m.toDo.length > 0 && el('ul', { class: 'todo' }, m.toDo.map((t) => el('li', {}, el('strong', {}, t.what), el('br'), 'Do: ', t.do)));

function card(m) {
  return el('article', { class: 'card' },
    el('h3', {}, link(m, `${m.gpus} × ${m.model} `, el('code', {}, short(m.address))), ' ', stateOf(m), ' ', m.simulated && simulated(), ' ', m.verified && el('span', { class: 'badge verified' }, 'verified')),
    tasks(m),
    el('div', { class: 'figures' },
      figure('Price now', `${usdc(m.pricePerGpuHour)} per GPU-hour`), figure('Leased', `${m.gpus - m.freeGpus} of ${plural(m.gpus, 'GPU')}`),
      figure('Tier', m.tier), figure('Uptime', `${m.uptimePercent} %`), figure('Checks passed', `${m.checksPassed} of ${m.checksTotal}`),
      figure('Jobs', `${m.jobsCompleted} done, ${m.jobsFailed} failed`), figure('Stake', `${m.stake} of ${m.requiredStake} GNT`),
      figure('Settled', usdc(m.earned.settled)), figure('Claimed', usdc(m.earned.claimed))));
}

export async function provider({ root, argument, signal, every }) {
  const about = await get('/page/about', signal).catch(() => null);
  const connected = about && await current(about.chain);
  const own = connected?.account.address ?? (await get('/v1/status', signal)).account.customer;
  const wallet = decodeURIComponent(argument) || own;
  const form = lookup({ view: 'provider', name: 'wallet', value: wallet, label: 'Wallet of the owner', note: 'Of anybody: what is shown is public.', verb: 'Show' },
    wallet !== own && el('a', { href: `#/provider/${encodeURIComponent(own)}` }, 'My wallet'));
  const body = el('div');
  const calculator = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Provider'), form, body, calculator);
  const draw = (p) => fill(body,
    el('div', { class: 'figures' }, figure('Machines', p.machines.length), figure('Settled', usdc(p.earned.settled)), figure('Claimed, not settled', usdc(p.earned.claimed)),
      figure('Served besides, at most', usdc(p.earned.unclaimed)), figure('Stake', `${p.stake} GNT, ${p.lockedStake} of it needed`), figure('Slashed so far', `${p.slashedTotal} GNT`),
      p.unstaking !== '0' && figure('On its way out', `${p.unstaking} GNT, from ${when(p.unstakeAt)}`), figure('Open faults', p.pendingFaults)),
    el('p', { class: 'note' }, 'Money is that of leases that are not closed, the market’s fee taken off; earlier days are with each machine. Provider since ', when(p.registeredAt), '; earnings go to ', el('code', {}, p.payout), '.'),
    el('h2', {}, 'Machines'),
    p.machines.length === 0 ? el('p', {}, 'No machine is registered. ', el('code', {}, 'gantry-agent setup'), ' registers one.') : p.machines.map(card));
  let p;
  try {
    p = await get(`/v1/providers/${encodeURIComponent(wallet)}`, signal);
  } catch (err) {
    if (signal.aborted) return;
    if (err.status !== 404) throw err;
    fill(body, argument ? problem(err) : el('p', { role: 'status' }, 'This wallet is not a provider. Give the wallet of one, or become one: ', el('code', {}, 'gantry-agent setup'), ' asks, checks and registers.'));
    fill(calculator, await returns(null, signal));
    return;
  }
  let shown = '';
  const load = async () => {
    const now = JSON.stringify({ ...p, at: 0 }); // at is another each second
    if (now !== shown) draw(p);
    shown = now;
  };
  await load();
  fill(calculator, await returns(p, signal));
  every(5000, async () => {
    p = await get(`/v1/providers/${encodeURIComponent(wallet)}`, signal);
    await load();
  });
}
