// One machine: what keepers have measured and checked, its faults, its leases, and what it has earned by day.
import { get } from '../api.js';
import { code, describe, el, figure, fill, simulated } from '../dom.js';
import { plural, problem, short, span, sum, usdc, when } from '../show.js';
import { table } from '../table.js';
import { stateOf, tasks } from './provider.js';
import { faultTable } from './faults.js';

// shares are those of its class, one bar for each measured period.
function shares(m) {
  if (!m.class.calibrated) return el('p', {}, 'Nothing is asked of the class: it is not calibrated on hardware yet.');
  if (!m.measured?.sharesPercent?.length) return el('p', {}, 'No period was measured since the node has accepted the terms of its class.');
  return el('div', {}, el('p', {}, `The mean of the last measured periods is ${m.measured.sharePercent} % of its class; orders need ${m.class.sharePercent} %.`),
    el('ol', { class: 'shares' }, m.measured.sharesPercent.map((s, i) => {
      const meter = el('meter', { min: 0, max: 100, value: s, 'aria-label': `Share ${i + 1}, the newest first` });
      [meter.low, meter.optimum] = [Number(m.class.sharePercent), 100];
      return el('li', {}, meter, ` ${s} %`);
    })));
}

const result = (c) => (c.undecided ? el('span', { class: 'dim' }, 'not decided') : c.failed > 0 ? el('span', { class: 'bad' }, `${c.failed} failed`) : el('span', { class: 'good' }, 'all passed'));

const checks = (r) => table('Checks', 'By period, the newest first. Keepers count checks that passed and that failed; what they could not decide, or the machine refused, is in neither.',
  ['Period', 'Result', 'Passed #', 'Failed #', 'Up', 'Measured #', 'Found *', 'Report', 'Applied'],
  r.checks.map((c) => [c.period, result(c), c.undecided ? '' : c.passed, c.undecided ? '' : c.failed, c.undecided ? '' : span(c.upSeconds),
    c.measured ? `${c.tops} TOPS, ${c.gigabytesPerSecond} GB/s` : '', c.flags.length > 0 && [c.flags.join(', '), ': ', c.advice], code(short(c.report)), when(c.appliedAt)]));

const reach = (h) => (h.whole ? 'All of its transactions that the cluster’s node has were read' : `Its last transactions were read, since ${when(h.since)}`)
  + (h.unreadable ? `; of ${h.unreadable} of them it is not known what they did, so that payments may be missing` : '');

export async function machine({ root, argument, signal, every }) {
  const id = decodeURIComponent(argument);
  const body = el('div');
  const history = el('div', {}, el('p', { role: 'status' }, 'Reading its transactions.'));
  root.append(el('h1', { tabindex: -1 }, 'Machine'), body, history);
  const draw = (m) => fill(body,
    el('p', {}, el('strong', {}, `${m.gpus} × ${m.model} `), stateOf(m), ' ', m.simulated && simulated(), ' of ', el('a', { href: `#/provider/${encodeURIComponent(m.wallet)}`, 'data-key': 'owner' }, short(m.wallet))),
    tasks(m),
    el('div', { class: 'figures' }, figure('Price now', `${usdc(m.pricePerGpuHour)} per GPU-hour`), figure('Leased', `${m.gpus - m.freeGpus} of ${plural(m.gpus, 'GPU')}`), figure('Tier', m.tier),
      figure('Uptime', `${m.uptimePercent} %`), figure('Reputation', `${m.reputationPercent} %`), figure('Rating', m.rating === '-' ? 'none yet' : `${m.rating} of 5`),
      figure('Settled', usdc(m.earned.settled)), figure('Claimed, not settled', usdc(m.earned.claimed)), figure('Served besides, at most', usdc(m.earned.unclaimed))),
    el('div', { class: 'columns' },
      el('section', {}, el('h2', {}, 'Measured'),
        describe(['Operations', m.measured?.tops ? `${m.measured.tops} TOPS int8, by the weakest GPU` : 'not yet'], ['The class asks for', m.class.calibrated && `${m.class.tops} TOPS and ${m.class.gigabytesPerSecond} GB/s`],
          ['Claimed', `${m.claimed.tflops} TFLOPS fp16, by the data sheet`], ['Memory', m.measured?.gigabytesPerSecond && `${m.measured.gigabytesPerSecond} GB/s`],
          ['Network', m.measured?.downMbps ? `${m.measured.downMbps} Mbit/s down, ${m.measured.upMbps} up` : 'not yet'], ['Network, claimed', `${m.claimed.downMbps} Mbit/s down, ${m.claimed.upMbps} up`],
          ['For leases', `${m.cpuCores} cores, ${Math.floor(m.ramMib / 1024)} GiB of memory, ${m.diskGib} GiB of disk`], ['CUDA', m.cuda],
          ['Last measured in period', m.measured?.period]), shares(m)),
      el('section', {}, el('h2', {}, 'Stake and record'),
        describe(['Own stake', `${m.stake} GNT`], ['Needed', `${m.requiredStake} GNT`], ['Held by faults', `${m.stakeHeldByFaults} GNT`], ['Leases', `${m.jobsCompleted} completed, ${m.jobsFailed} failed`],
          ['Verified', m.verified ? 'yes' : `no: ${(m.lacksForVerified ?? []).join('; ')}`], ['Registered', when(m.registeredAt)], ['Region', [m.region, m.site && ` ${m.site}`]], ['Node', code(m.address)]))),
    m.faults.length > 0 && [el('h2', {}, 'Open faults'), faultTable(m.faults, 'Faults of this machine that are open.')],
    el('h2', {}, 'Leases'),
    m.leases.length === 0 ? el('p', {}, 'None is open.') : table('Leases', 'That are not closed, the newest first.', ['Lease', 'State', 'GPUs #', 'Price #', 'Used', 'Settled #', 'Claimed #', 'Started'],
      m.leases.map((l) => [el('a', { href: `#/audit/${encodeURIComponent(l.address)}`, 'data-key': `lease-${l.address}` }, short(l.address)), l.status, l.gpus, l.pricePerGpuHour, span(l.usedSeconds), sum([l.earned.settled]), sum([l.earned.claimed]), when(l.startedAt)])));
  let shown = '';
  const load = async () => {
    const r = await get(`/v1/nodes/${encodeURIComponent(id)}`, signal);
    const now = JSON.stringify(r);
    if (now === shown) return;
    shown = now;
    draw(r);
    fill(history, el('h2', {}, 'Earned by day'),
      r.days.length === 0 ? el('p', {}, 'Nothing was settled.') : table('Earned by day', 'What was settled, the market’s fee taken off; days in UTC.', ['Day', 'USDC #', 'Leases #'], r.days.map((d) => [d.day, sum([d.settled]), d.leases])),
      el('h2', {}, 'Checks'), r.checks.length === 0 ? el('p', {}, 'No report about it was applied yet.') : checks(r),
      el('p', { class: 'note' }, `${reach(r.history)}: ${plural(r.history.awards, 'award')} among them${r.history.unreadable ? `; ${r.history.unreadable} could not be read` : ''}.`));
  };
  try {
    await load();
  } catch (err) {
    if (signal.aborted) return;
    fill(history, problem(err));
  }
  every(60_000, load); // each reads some hundred transactions
}
