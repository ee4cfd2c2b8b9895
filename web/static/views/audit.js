// The history of a lease, rebuilt by the server from its transactions: whether it adds up, what became of the money, each step.
import { get } from '../api.js';
import { el, fill, icon, save, svg } from '../dom.js';
import { address, card, copyField, empty, inCard, toast } from '../parts.js';
import { amount, exact, micro, nb, percent, problem, span } from '../show.js';
import { lookup } from './lookup.js';
import { nameOf, readNames } from './rename.js';
import { steps, verdict } from './steps.js';
import { utcClock, utcDay } from './words.js';

// equation shows that what was reserved is what was paid, what is held, and what came back.
function equation(a) {
  const [paid, provider, fee, back] = [a.paid, a.provider, a.fee, a.refunded].map((x) => micro(x) ?? 0n);
  const held = micro(a.steps.findLast((s) => s.money)?.money.reserved ?? '0') ?? 0n;
  const whole = provider + fee + back + held;
  const unit = (n) => (whole > 0n ? Number((1328n * n) / whole) : 0);
  const parts = [['Provider', 'paid', provider, 'f-proof'], [`Fee, ${percent(a.feeBps / 100)}`, 'owed', fee, 'f-proof-mid'], held > 0n && ['Still reserved', 'res', held, 'f-reserved'], ['Came back to the customer', 'back', back, null]].filter(Boolean);
  let x = 0;
  const bar = parts.map(([, , n, cls]) => {
    const from = x;
    x += unit(n);
    return n > 0n && svg('rect', { class: cls ?? 'k-edge', fill: cls ? null : 'none', x: from + (cls ? 0 : 0.5), y: cls ? 0 : 0.5, width: Math.max(0, unit(n) - 2), height: cls ? 16 : 15, rx: 4 });
  });
  return el('section', { class: 'card pad stack-12 sumrow', 'aria-label': 'Sum' },
    el('div', { class: 'flow' }, el('div', {}, el('div', { class: 't3 small' }, 'Reserved for the lease'), el('div', { class: 'v' }, exact(amount(whole)))), parts.map(([name, dot, n], i) => [el('span', { class: 'op' }, i === 0 ? '=' : '+'),
      el('div', { 'data-part': name.split(',')[0] }, el('div', { class: 't3 small row tight' }, el('span', { class: `dot-i ${dot}` }), name), el('div', { class: 'v' }, exact(amount(n))))])),
    svg('svg', { class: 'full', viewBox: '0 0 1328 16', preserveAspectRatio: 'none', role: 'img', 'aria-label': `Of ${exact(amount(whole))} reserved, ${exact(a.provider)} went to the provider, ${exact(a.fee)} is the fee, ${exact(a.refunded)} came back` }, bar),
    a.outcome !== 'unknown' && el('p', { class: 't3 small' }, `${a.paidSeconds}${nb}s × ${a.gpus}${nb}GPU × ${exact(a.pricePerGpuHour)} an hour = ${exact(amount(paid))}, of which the provider has ${percent(100 - a.feeBps / 100)}.`));
}

// shifted has the chart, which writes local times, write UTC.
const shifted = (seconds) => seconds + new Date(seconds * 1000).getTimezoneOffset() * 60;

// overTime draws what was reserved, served and paid at each step.
async function overTime(a, signal) {
  const all = a.steps.filter((s) => s.money && Number.isFinite(Date.parse(s.time)));
  if (all.length < 2) return null;
  const { plot } = await import('../plot.js');
  const dollarsOf = (text) => Number(text);
  const start = a.steps.find((s) => s.name === 'start');
  const end = a.steps.find((s) => s.name === 'end');
  const [from, to] = [start, end].map((s) => s && Date.parse(s.time) / 1000);
  const rate = (Number(a.pricePerGpuHour) * a.gpus) / 3600;
  const at = all.map((s) => Date.parse(s.time) / 1000);
  const served = at.map((t) => (from === undefined || t < from ? 0 : (Math.min(t, to ?? t) - from) * rate));
  const most = amount(all.map((s) => (micro(s.money.reserved) ?? 0n) + (micro(s.money.paid) ?? 0n)).reduce((x, y) => (x > y ? x : y)));
  let p = null;
  // Without a cursor the head is a legend: the last values are those of a lease that is over.
  const pointed = () => p?.figure.querySelector('.plot').matches(':hover, :focus');
  p = plot({
    name: 'Money over time', label: `Money over time: at most ${exact(most)} reserved, ${exact(a.paid)} paid; lines`, height: 230, size: 56, signal, lines: [{ name: 'reserved', colour: 'reserved', steps: true, fill: true, width: 1 }, { name: 'served', colour: 'text', dash: [5, 4] }, { name: 'paid', colour: 'proof', steps: true, fill: true, width: 2.25 }],
    unit: (v) => `$${Number(v.toPrecision(2))}`, text: ([r, s, d]) => (r === null ? '–' : el('span', { class: 'small row wrap' }, [['res', 'reserved', r - d], [null, '┄ served', s], ['paid', 'paid', d]].map(([dot, word, n]) => el('span', { class: 'row tight' }, dot && el('span', { class: `dot-i ${dot}` }), pointed() ? `${word} $${n.toFixed(4)}` : word)))),
  });
  const put = () => p.show([at.map(shifted), all.map((s) => dollarsOf(s.money.reserved) + dollarsOf(s.money.paid)), served, all.map((s) => dollarsOf(s.money.paid))]);
  return { figure: el('div', { class: 'card pad stack' }, p.figure, el('p', { class: 't3 small' }, 'Paid never runs ahead of served: receipts and the keepers’ reports pay what was verified. Times are UTC.')), put };
}

const checked = ['Every amount follows from seconds, price and fee', 'Each paid second is in a receipt that both sides signed, or in a report', 'Each report had more than two thirds of the keepers’ weight', 'Everything that was reserved is accounted for'];

const who = (a) => inCard({ name: 'Who', level: 'h3' }, el('dl', { class: 'kv' }, [['Customer', address(a.customer, 'customer')], ['Machine', address(a.node, 'machine', { href: `#/machine/${encodeURIComponent(a.node)}`, key: 'machine' })], ['Provider', a.providerAccount ? address(a.providerAccount, 'provider') : 'not known'], ['Awarded by keeper', a.keeper ? address(a.keeper, 'keeper') : 'not known'], ['Order', address(a.order, 'order')], ['Proofs of reports', a.verifiedLeaves]].map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)])));

function saveAudit(a) {
  save(new Blob([JSON.stringify(a, null, 2)], { type: 'application/json' }), `audit-${a.lease}.json`);
  toast('The audit is saved as JSON.');
}

// lasted says when it was, in UTC.
function lasted(times) {
  const [from, to] = [Math.min(...times), Math.max(...times)];
  const [day, last] = [utcDay(from), utcDay(to)];
  const brief = to - from < 600;
  return `${day}, ${utcClock(from, brief)} to ${last === day ? '' : `${last}, `}${utcClock(to, brief)} UTC, ${span(to - from)}`;
}

// hardware says what was leased: the audit reads transactions, and the machine, while it is there, has the model.
function hardware(a, signal) {
  const out = el('span', {}, `${a.gpus} × GPU`);
  get(`/v1/nodes/${encodeURIComponent(a.node)}?transactions=1`, signal).then((m) => m.model && fill(out, `${a.gpus} × ${m.model}`), () => {});
  return out;
}

async function show(body, a, again, signal) {
  const times = a.steps.map((s) => Date.parse(s.time) / 1000).filter(Number.isFinite);
  const transactions = new Set(a.steps.map((s) => s.transaction).filter(Boolean)).size;
  const chart = await overTime(a, signal);
  if (signal.aborted) return;
  fill(body,
    verdict(a.outcome, {
      steps: a.steps, text: `Rebuilt from ${transactions} Solana transactions. No single keeper’s word was taken for it.${a.lives > 1 ? ` This address was a lease ${a.lives} times; the last one is shown.` : ''}${a.open ? ' The lease is not closed yet.' : ''}`,
      more: el('div', { class: 'meta' }, el('span', { class: 'row tight' }, icon('server', 's14'), hardware(a, signal), a.pricePerGpuHour !== '0.00' && `at ${exact(a.pricePerGpuHour)}${nb}/h${a.gpus > 1 ? ' each' : ''}`), times.length > 1 && el('span', { class: 'row tight' }, icon('clock', 's14'), lasted(times)), el('span', { class: 'row tight' }, 'Lease ', address(a.lease, 'lease', { name: nameOf(a.lease) }))),
      acts: el('div', { class: 'row wrap' }, el('button', { type: 'button', class: 'btn', on: { click: again } }, icon('undo', 's14'), 'Check again'), el('button', { type: 'button', class: 'btn', on: { click: () => saveAudit(a) } }, icon('down2', 's14'), 'JSON')),
    }), equation(a),
    el('div', { class: 'lease' }, el('div', { class: 'gap' }, chart?.figure, steps(a.steps)), el('aside', { class: 'stack-16', 'aria-label': 'About this audit' }, who(a),
      inCard({ name: 'What is checked', level: 'h3' }, el('ul', { class: 'checks' }, checked.map((c) => el('li', {}, icon('check'), el('span', {}, c))))),
      inCard({ name: 'Check it yourself', level: 'h3' }, el('div', { class: 'stack' }, el('span', { class: 't3 small' }, 'The same without this server'), copyField(`gantry audit ${a.lease}`, 'the command'))))));
  chart?.put();
}

export async function audit({ root, argument, signal, about }) {
  const id = decodeURIComponent(argument);
  const body = el('div');
  const form = lookup({ view: 'audit', name: 'lease', value: id, label: 'Lease', note: 'Of any customer, also one that is closed.', verb: 'Audit' });
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Audit'), !id && el('p', {}, 'The server reads the transactions of a lease and checks every amount, signature and proof again. It trusts no keeper for it.')), id && form), body);
  if (!id) {
    fill(body, card({ label: 'Look a lease up' }, el('div', { class: 'body' }, form)), empty('No lease is chosen', 'Give the address of a lease; the leases of this wallet lead here too.'));
    return;
  }
  const load = async () => {
    fill(body, el('p', { role: 'status', class: 't2' }, 'Reading the history from the cluster.'));
    try {
      if (!about.public) await readNames(signal);
      await show(body, await get(`/v1/audit/${encodeURIComponent(id)}`, signal), load, signal);
    } catch (err) {
      if (!signal.aborted) fill(body, problem(err));
    }
  };
  await load();
}
