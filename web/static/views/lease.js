// One lease: its state, its money, what it uses, how it is reached, and what can be done about it.
import { get } from '../api.js';
import { el, fill, icon, outside, simulated } from '../dom.js';
import { measured } from '../figures.js';
import { address, copyField, crumbs, inCard, state, tag } from '../parts.js';
import { clock, exact, nb, short, span, uptime, when } from '../show.js';
import { tabs } from '../tabs.js';
import { extendButton, judgeForms } from './actions.js';
import { files } from './files.js';
import { logs } from './logs.js';
import { here as local, ports } from './ports.js';
import { called, gpusText, renameButton } from './rename.js';
import { runbar } from './runbar.js';
import { stopButton } from './stop.js';
import { terminal } from './terminal.js';

// phases say what a state means.
const phases = {
  awarded: 'A keeper has given the order to this machine, which brings the job up. Nothing is billed yet.', running: 'The machine serves the job, and every second is billed that it serves.',
  ended: 'It is over. What is owed is settled by receipts or by the keepers’ next report; the rest is free again.', failed: 'The machine did not serve it. The time that was not served is not paid.',
};

// inspections say what came of measuring the machine beside the job.
const inspections = {
  due: 'The machine will be measured once, at a random second.', spared: 'Not drawn: one lease in eight is measured, and none of simulated GPUs.', passed: 'The machine was measured beside the job, and passed.',
  failed: 'The machine did not pass, and the lease was ended.', undecided: 'It says nothing of the machine.', missed: 'The lease was over before it was measured.',
};

// reason is why a lease is over, with a link to the one that continues it.
async function reason(id, signal) {
  const w = await get(`/v1/why/${encodeURIComponent(id)}`, signal).catch(() => null);
  if (!w || ['awarded', 'running'].includes(w.reason)) return ''; // the history comes a little later
  const next = w.reason === 'moved' && w.leases[0];
  return [w.says, next && [' ', el('a', { class: 'link', href: `#/lease/${encodeURIComponent(next)}`, 'data-key': 'next' }, 'Go to it')]];
}

const pairs = (...all) => el('dl', { class: 'kv' }, all.filter(([, v]) => v !== undefined && v !== null && v !== false && v !== '').map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));

const badge = (i) => i?.tops && tag(`Measured beside the job at ${clock(i.at)}: ${i.tops} TOPS, ${i.gigabytesPerSecond} GB/s`, i.state === 'passed' ? 'proof' : '', 'seal');

// reached are the addresses under which a browser finds the lease's ports: the public ones first.
const reached = (all) => [...all.filter((p) => p.public).map((p) => ({ ...p, at: p.public, api: p.name === 'api', title: 'Public URL' })), ...all.filter((p) => p.url && local).map((p) => ({ ...p, at: p.url, api: p.name === 'api', title: 'On this computer' }))];

// toPort leaves the page for an address; nothing where it is no address of the web.
function toPort(at, attrs, ...children) {
  const a = outside(at, ...children);
  if (a.localName !== 'a') return null;
  a.className = attrs.class;
  a.dataset.key = attrs.key;
  if (attrs.label) a.setAttribute('aria-label', attrs.label);
  return a;
}

// head is what the lease is, its state, and the acts.
function head(l, urls, failure, load) {
  return el('header', { class: 'lead-row' }, el('div', { class: 'grow' },
    el('h1', { tabindex: -1, 'data-title': 'Lease' }, called(l), renameButton(l, load), el('span', { class: 'h1s' }, state(l.status, l.endReason && ` (${l.endReason})`))),
    el('div', { class: 'meta' }, el('span', {}, gpusText(l)), address(l.address, 'lease'), l.simulated && simulated(), badge(l.inspection), el('span', {}, phases[l.status]))),
  el('div', { class: 'row wrap' }, urls.length > 0 && toPort(urls[0].at, { class: 'btn act', key: 'open' }, icon('out', 's14'), 'Open'), l.status === 'running' && extendButton(l, failure, load), stopButton(l, failure, load)));
}

const over = (l, why) => ['ended', 'failed'].includes(l.status) && el('section', { class: 'note', 'aria-label': 'How it ended' }, icon('info'), el('div', {}, why && el('p', {}, why), l.detail && el('p', {}, l.detail), l.exitCode !== undefined && el('p', {}, `Exit code ${l.exitCode}.`), el('p', {}, `Used ${exact(l.costAtMost)}.`)));

const auditCard = (l) => el('section', { class: 'card pad row' }, el('span', { class: 't3' }, icon('seal', 's20')), el('div', { class: 'grow' }, el('div', { class: 'medium' }, 'Does it add up?'), el('div', { class: 't3 small' }, 'Every amount, signature and proof')), el('a', { class: 'btn sm', href: `#/audit/${encodeURIComponent(l.address)}`, 'data-key': 'audit', 'aria-label': 'Audit this lease' }, 'Audit'));

const details = (l) => inCard({ name: 'Details', level: 'h3' }, pairs(
  ['Awarded', when(l.awardedAt)], ['Started', when(l.startedAt)], ['Money ends', when(l.fundedUntil)], ['Ended', when(l.endedAt)], ['Interruptible', l.spot && 'yes'], ['Machine may leave from', when(l.leavesAt)], ['Used', span(l.usedSeconds)], ['Paid for', span(l.paidSeconds)],
  ['Receipts say', span(l.receiptSeconds)], ['Keepers confirm', span(l.verifiedSeconds)], ['Down', l.downtimeSeconds ? span(l.downtimeSeconds) : ''], ['Fee in what is paid', exact(l.feeIncluded)],
  ['Price of the award', l.awardPricePerGpuHour && `${exact(l.awardPricePerGpuHour)}${nb}/h`], ['Output', l.output], ['Inspection', l.inspection && inspections[l.inspection.state]], ['', l.inspection?.why], ['Rating', l.rating && `${l.rating} of 5`],
  ['Order', address(l.order, 'order')], ['Customer', address(l.customer, 'customer')], ['Snapshot', l.snapshot && el('code', {}, l.snapshot)]));

const sentences = (list) => list.length > 0 && el('ul', {}, ...list.map((text) => el('li', {}, text)));

// proofCard is what the machine has proved before it got the job, and what was not covered.
const proofCard = (a) => a && inCard({ name: 'What the machine proved', level: 'h3' }, el('p', { role: 'status' }, a.state === 'passed' ? `It passed your policy “${a.policy}” on ${when(a.at)}, before it got the job.` : `It was refused by your policy “${a.policy}” on ${when(a.at)}, and from then on nothing was sent to it: ${a.why}`),
  pairs(['Verified', sentences(a.verified)], ['Failed', sentences(a.failed)], ['Not covered', sentences(a.notCovered)], ['Evidence', el('code', {}, a.evidenceHash)]));

const labelled = (label, content) => el('div', { class: 'stack' }, el('span', { class: 't3 small' }, label), content);

// connect says how the lease is reached; addresses is filled with the URLs of its ports as they come and go.
const connect = (l, addresses) => inCard({ name: 'Connect', level: 'h3' }, el('div', { class: 'stack-12' }, addresses, labelled('A shell, from your computer', copyField(`gantry ssh ${l.address}`, 'the SSH command')), labelled('Its state, in a terminal', copyField(`gantry top ${l.address}`, 'the command'))));

// urlFields are the URLs of ports. A port that is called api is the one of the templates that serve models, in OpenAI's form.
const urlFields = (urls) => (urls.length === 0 ? el('p', { class: 't3 small' }, 'No port is open. Open one in Ports.') : urls.map((u) => [
  labelled(`${u.title}, port ${u.port}`, copyField(u.at, `the URL of port ${u.port}`, toPort(u.at, { class: 'icon-btn', key: `open-${u.at}`, label: `Open port ${u.port}` }, icon('out')))),
  u.api && labelled('OpenAI base URL', copyField(`${u.at.replace(/\/$/, '')}/v1`, 'the OpenAI base URL')),
]));

// machineCard is filled when the machine's figures are there: the lease does not wait for them.
function machineCard(l, signal) {
  const body = el('div', { class: 'stack-12' }, el('p', { class: 't3 small' }, 'Reading.'));
  get(`/v1/nodes/${encodeURIComponent(l.node)}?transactions=1`, signal).then((o) => {
    fill(body, [measured(o, { width: 290 }), pairs(['Uptime', uptime(o.uptimePercent)], ['Leases', `${o.jobsCompleted} completed, ${o.jobsFailed} failed`], ['Region', el('span', { class: 'claim' }, o.region || 'not said')])]);
  }, () => fill(body, el('p', { class: 't3 small' }, 'Its figures are with the machine.')));
  return inCard({ name: 'Machine', level: 'h3', end: address(l.node, 'machine', { href: `#/machine/${encodeURIComponent(l.node)}`, key: 'node' }) }, body);
}

export async function lease({ root, argument, signal, every }) {
  const id = decodeURIComponent(argument);
  const top = el('div');
  const failure = el('div');
  const bar = el('div');
  const ended = el('div');
  const live = el('div', { class: 'gap' });
  const aside = el('aside', { class: 'stack-16', 'aria-label': 'About this lease' });
  const facts = el('div', { class: 'stack-16' });
  const here = el('span', { class: 'tiny' }, el('code', {}, short(id)));
  root.append(crumbs('#/leases', 'Leases', here), top, failure, bar, ended, el('div', { class: 'lease' }, live, aside));
  fill(top, el('h1', { tabindex: -1 }, 'Lease'));
  let shown = '';
  let status = '';
  let why = '';
  let judged = '';
  const judge = el('div');
  const addresses = el('div', { class: 'stack-12' });
  let urls = '';
  const load = async (anew) => {
    let l;
    try {
      l = await get(`/v1/leases/${encodeURIComponent(id)}`, signal);
    } catch (err) {
      if (err.status !== 404 || !shown) throw err;
      fill(failure, el('p', { role: 'status', class: 'note' }, icon('info'), el('span', {}, 'The lease is settled and closed: what is below was its last state. ', el('a', { class: 'link', href: `#/audit/${encodeURIComponent(id)}` }, 'Its history'), ' stays.')));
      return;
    }
    if (['ended', 'failed'].includes(l.status) && (!why || status !== l.status)) {
      why = await reason(id, signal);
      if (why) shown = '';
    }
    const open = l.status === 'running' ? reached(await get(`/v1/leases/${encodeURIComponent(id)}/forwards`, signal).then((r) => r.ports, () => [])) : [];
    const now = JSON.stringify([l, open]);
    if (now === shown && anew !== true) return;
    shown = now;
    if (status !== l.status) { // what is live changes with the state alone
      await parts(l);
      status = l.status;
      dispatchEvent(new CustomEvent('gantry-changed'));
    }
    if (judged !== `${l.status} ${l.rating ?? ''}`) {
      fill(judge, l.status === 'awarded' ? el('p', { class: 'body t2' }, 'Nothing has happened yet.') : el('div', { class: 'body' }, judgeForms(l, load, signal)));
      judged = `${l.status} ${l.rating ?? ''}`;
    }
    fill(top, head(l, open, failure, load));
    const at = JSON.stringify(open);
    if (at !== urls) fill(addresses, urlFields(open));
    urls = at;
    fill(here, called(l));
    fill(bar, l.status !== 'awarded' && runbar(l));
    fill(ended, over(l, why));
    fill(facts, [proofCard(l.attestation), details(l)]);
  };
  // parts are what is not drawn anew with every figure.
  let leave = new AbortController();
  signal.addEventListener('abort', () => leave.abort());
  const parts = async (l) => {
    leave.abort();
    const mine = leave = new AbortController();
    const running = l.status === 'running';
    const use = running && (await import('./use.js')).use;
    const image = l.status === 'awarded' && (await import('./image.js')).image;
    if (signal.aborted || mine !== leave) return;
    fill(live, image && image(l.address, leave.signal), running && use(l.address, leave.signal), tabs('What it does', [
      l.status !== 'awarded' && ['Logs', logs(l.address, leave.signal)], running && ['Terminal', el('div', { class: 'body' }, terminal(l.address, leave.signal))],
      running && ['Ports', el('div', { class: 'body' }, ports(l.address, leave.signal))],
      running && ['Files', el('div', { class: 'body' }, files(l.address, leave.signal))], ['Events', judge]].filter(Boolean)));
    fill(aside, running && connect(l, addresses), machineCard(l, leave.signal), auditCard(l), facts);
  };
  await load();
  every(3000, load);
}
