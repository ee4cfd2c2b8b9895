// One machine: what keepers have measured and checked, its faults, its leases, and what it has earned by day.
import { get } from '../api.js';
import { el, fill, icon, simulated } from '../dom.js';
import { measured, pips, strip } from '../figures.js';
import { address, card, claim, copyField, crumbs, inCard, marks, state, stats } from '../parts.js';
import { at, line, memory, money, nb, percent, perHour, plural, problem, short, span, sum, three, uptime, when } from '../show.js';
import { table } from '../table.js';
import { dayStrip, ofChecks, readDays, since } from './byday.js';
import { byDay, earnedIn } from './days.js';
import { faultTable } from './faults.js';
import { tasks } from './tasks.js';

const result = (c) => (c.undecided ? el('span', { class: 't3' }, 'not decided') : c.failed > 0 ? el('span', { class: 'bad' }, `${c.failed} failed`) : el('span', { class: 'proof' }, 'all passed'));

const checks = (r) => table('Checks', 'By period, the newest first. Keepers count checks that passed and that failed; what they could not decide, or the machine refused, is in neither.',
  ['Period', 'Result', 'Passed #', 'Failed #', 'Up', 'Measured #', 'Found *', 'Report', 'Applied'],
  r.checks.map((c) => [c.period, result(c), c.undecided ? '' : c.passed, c.undecided ? '' : c.failed, c.undecided ? '' : span(c.upSeconds),
    c.measured ? `${c.tops} TOPS, ${c.gigabytesPerSecond} GB/s` : '', c.flags.length > 0 && [c.flags.join(', '), ': ', c.advice], address(c.report, 'report'), when(c.appliedAt)]));

// upStrip shows the periods of which a report was applied, the oldest first.
function upStrip(r, period) {
  const all = [...r.checks].reverse().slice(-90).map((c) => ({
    part: c.undecided ? null : Math.min(100, (c.upSeconds / period) * 100), text: `period ${c.period}: ${c.undecided ? 'not decided' : `up ${span(c.upSeconds)}`}`,
  }));
  return all.length > 0 && el('div', { class: 'stack' }, strip(all, `Up ${uptime(r.uptimePercent)}, by its last ${all.length} periods`), el('div', { class: 'row between tiny' }, el('span', { class: 't3' }, `last ${plural(all.length, 'period')}`), el('span', { class: 'medium' }, `${uptime(r.uptimePercent)} up`)));
}

// byDays shows its checks by day, as this server has counted them.
function byDays(r) {
  const days = dayStrip(r.address, 90, 290);
  return days && el('div', { class: 'stack mt' }, days, el('span', { class: 't3 tiny' }, since(r.address, 90)));
}

// shares are the last measured periods of its class.
function shares(m) {
  if (!m.class.calibrated) return el('p', { class: 't3 small' }, 'Nothing is asked of the class: it is not calibrated on hardware yet.');
  const asked = `The class asks for ${three(m.class.tops)} TOPS and ${three(m.class.gigabytesPerSecond)} GB/s; orders need ${m.class.sharePercent} % of it.`;
  if (!m.measured?.sharesPercent?.length) return el('p', { class: 't3 small' }, asked, ' No period was measured since the node has accepted these terms.');
  return el('p', { class: 't3 small' }, asked, ` Of it, the newest first: ${m.measured.sharesPercent.map((s) => `${s}${nb}%`).join(', ')}.`);
}

const figures = (m, period) => inCard({ name: 'Measured', level: 'h3', end: el('span', { class: 'proof' }, icon('seal')) }, el('div', { class: 'stack-12' }, el('div', { class: 'stack' }, measured(m, { width: 290, mark: true })), shares(m),
  el('dl', { class: 'kv' }, [
    ['int8, by the weakest GPU', m.measured?.tops ? `${m.measured.tops} TOPS` : 'not yet'], ['Memory, random access', m.measured?.gigabytesPerSecond ? `${m.measured.gigabytesPerSecond} GB/s` : 'not yet'],
    ['Network', m.measured?.downMbps ? line(m.measured.downMbps, m.measured.upMbps) : 'not yet'], ['Claimed network', m.claimed.downMbps || m.claimed.upMbps ? claim(line(m.claimed.downMbps, m.claimed.upMbps)) : 'not said'],
    ['Data sheet', `${m.claimed.tflops} TFLOPS fp16`], ['Last measured', m.measured?.period ? when(m.measured.period * period) : 'never'],
  ].map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]))));

const record = (m) => inCard({ name: 'Machine', level: 'h3', end: address(m.address, 'machine') }, el('dl', { class: 'kv' }, [
  ['Provider', address(m.wallet, 'provider', { href: `#/machines/${encodeURIComponent(m.wallet)}`, key: 'owner' })], ['Region', claim(m.region || 'not said', m.site && `, ${m.site}`)],
  ['For leases', claim(`${m.cpuCores}${nb}vCPU, ${memory(m.ramMib)}, disk ${m.diskGib}${nb}GiB`)], ['CUDA', m.cuda || '–'], ['Tier', m.tier], ['Leases', `${m.jobsCompleted} completed, ${m.jobsFailed} failed`],
  ['Rating', m.rating === '-' ? 'none yet' : `${m.rating} of 5`], ['Reputation', percent(m.reputationPercent)], ['Stake', `${m.stake} GNT, ${m.requiredStake} needed`], ['Held by faults', m.stakeHeldByFaults !== '0' && `${m.stakeHeldByFaults} GNT`],
  ['Verified', m.verified ? 'yes' : `no: ${(m.lacksForVerified ?? []).join('; ')}`], ['Registered', when(m.registeredAt)],
].filter(([, v]) => v).map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])));

const leases = (m) => (m.leases.length === 0 ? card({ name: 'Leases' }, el('p', { class: 'body t2' }, 'None is open.')) : table('Leases', 'Leases that are not closed, the newest first.', ['Lease', 'State', 'GPUs #', 'Price #', 'Used', 'Earned #', 'Served, not paid yet #', 'Started'],
  m.leases.map((l) => [address(l.address, 'lease', { href: `#/audit/${encodeURIComponent(l.address)}`, key: `lease-${l.address}` }), state(l.status), l.gpus, perHour(l.pricePerGpuHour), span(l.usedSeconds), money(l.earned.settled), money(sum([l.earned.claimed, l.earned.unclaimed])), when(l.startedAt)])));

// reach says how far back the record goes.
const reach = (h) => (h.whole ? 'All of its transactions that the cluster’s node has were read' : `Its last transactions were read, since ${at(h.since ?? 0)}`)
  + (h.unreadable ? `; of ${h.unreadable} of them it is not known what they did, so that payments may be missing` : '') + `: ${plural(h.awards, 'award')} among them.`;

const command = (m) => `gantry deploy --gpu ${String(m.model).split(' ')[0]} --max-price ${m.pricePerGpuHour}${m.simulated ? ' --allow-simulated' : ''}`;

const rent = (m, about) => (about.public ? el('div', { class: 'stack' }, el('span', { class: 't3 small' }, 'Rent one like it'), copyField(command(m), 'the command'))
  : m.freeGpus > 0 && el('a', { class: 'btn act', 'data-key': 'rent', href: `#/deploy?${new URLSearchParams({ gpu: m.model, price: m.pricePerGpuHour, simulated: m.simulated ? '1' : '' })}` }, 'Rent'));

export async function machine({ root, argument, signal, every, about }) {
  const id = decodeURIComponent(argument);
  const top = el('div');
  const wide = el('div', { class: 'gap' });
  const aside = el('aside', { class: 'stack-16', 'aria-label': 'Machine' });
  root.append(crumbs('#/market', 'Market', el('code', { class: 'tiny' }, short(id))), top, el('div', { class: 'lease' }, wide, aside));
  fill(top, el('h1', { tabindex: -1 }, 'Machine'), el('p', { role: 'status', class: 't2' }, 'Reading its transactions.'));
  const m = await get('/v1/market', signal);
  const days = byDay(signal);
  let shown = '';
  const load = async () => {
    const r = await get(`/v1/nodes/${encodeURIComponent(id)}`, signal);
    const now = JSON.stringify(r);
    if (now === shown) return;
    shown = now;
    await readDays([r.address], signal);
    fill(top,
      el('header', { class: 'lead-row' }, el('div', { class: 'grow' }, el('h1', { tabindex: -1, 'data-title': 'Machine' }, `${r.gpus} × ${r.model} `, marks(r), el('span', { class: 'h1s' }, state(r.status))), el('div', { class: 'meta' }, el('span', {}, memory(r.vramMib), ' each'), claim(r.region || 'not said'), r.simulated && simulated())), rent(r, about)),
      stats('In short', ['Price per GPU-hour', money(r.pricePerGpuHour)], ['Leased', el('span', {}, pips(r.gpus - r.freeGpus, r.gpus, 'leased'))], ['Uptime', uptime(r.uptimePercent), r.checksTotal > 0 && `${ofChecks(r.checksPassed, r.checksTotal)} passed`],
        ['Earned, 30 days', money(earnedIn(r.days, 30)), 'settled, after the market’s fee'], ['Served, not paid yet', money(sum([r.earned.claimed, r.earned.unclaimed])), 'at most']));
    fill(wide, tasks([r]), r.faults.length > 0 && faultTable(r.faults, 'Faults of this machine that are open.'), days.part, leases(r),
      r.checks.length === 0 ? card({ name: 'Checks' }, el('p', { class: 'body t2' }, 'No report about it was applied yet.')) : checks(r), el('p', { class: 't3 small' }, reach(r.history)));
    days.show(r.days);
    fill(aside, figures(r, m.params.periodSecs), inCard({ name: 'Uptime', level: 'h3' }, upStrip(r, m.params.periodSecs) || el('p', { class: 't2 small' }, 'No report about it was applied yet.'), byDays(r)), record(r));
  };
  try {
    await load();
  } catch (err) {
    if (signal.aborted) return;
    fill(top, el('h1', { tabindex: -1 }, 'Machine'), problem(err));
  }
  every(60_000, load); // each reads some hundred transactions
}
