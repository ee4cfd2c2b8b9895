// One deployment: its replicas, what requests have used, how clients reach it, and its end.
import { ask, get } from '../api.js';
import { confirmed } from '../dialog.js';
import { describe, el, fill } from '../dom.js';
import { address, card, copyField, inCard, stats } from '../parts.js';
import { money, problem, sum, when } from '../show.js';
import { table } from '../table.js';
import { replicasOf } from './endpoints.js';
import { nameOf, readNames } from './rename.js';

const total = (usage, field) => usage.reduce((n, u) => n + (u[field] ?? 0), 0);

const mean = (all, n) => (n > 0 ? `${Math.round(all / n)} ms` : '–');

// hours are the sums of all tokens by hour.
function hours(usage) {
  const by = new Map();
  for (const u of usage) by.set(u.hour, [...(by.get(u.hour) ?? []), u]);
  return [...by].sort(([a], [b]) => b - a);
}

function usageOf(usage) {
  const [requests, tokens] = [total(usage, 'requests'), total(usage, 'completionTokens')];
  return [stats('In short', ['Requests', requests], ['Failed', total(usage, 'failed')], ['Tokens read', total(usage, 'promptTokens')], ['Tokens written', tokens],
    ['First token, mean', mean(total(usage, 'firstTokenMilliseconds'), requests)], ['Their cost', money(sum(usage.map((u) => u.cost)))]),
  usage.length > 0 && table('Use by hour', 'The last 24 hours, all tokens together. Time in which replicas idle is in no request’s cost; leases have all of it.',
    ['Hour', 'Requests #', 'Failed #', 'Tokens read #', 'Tokens written #', 'Cost, USDC #'],
    hours(usage).map(([hour, all]) => [when(hour), total(all, 'requests'), total(all, 'failed'), total(all, 'promptTokens'), total(all, 'completionTokens'), sum(all.map((u) => u.cost))]))];
}

export async function endpoint({ root, argument, signal, every }) {
  const name = decodeURIComponent(argument);
  const path = `/v1/deployments/${encodeURIComponent(name)}`;
  const failure = el('div');
  const body = el('div', { class: 'gap' });
  const secret = el('div', { role: 'status' });
  const act = (f) => async () => {
    failure.replaceChildren();
    try {
      await f();
      await load();
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err));
    }
  };
  const stop = el('button', { type: 'button', class: 'btn stop', on: { click: act(async () => {
    const yes = await confirmed({
      title: `Stop ${name}?`, yes: 'Stop the endpoint', danger: true,
      body: el('p', {}, 'Requests that wait are refused, those that are answered go on for up to ten minutes, then its leases end. What they have not used comes back.'),
    });
    if (yes) await ask('DELETE', path);
  }) } }, 'Stop the endpoint');
  const token = el('button', { type: 'button', class: 'btn', on: { click: act(async () => {
    const { body: made } = await ask('POST', '/v1/inference/tokens', { body: { name: `page, for ${name}`.slice(0, 64), deployments: [name] } });
    fill(secret, el('p', {}, 'Token ', el('code', {}, made.token), '. It is not shown again, and opens this endpoint alone.'));
  }) } }, 'Make a token for clients');
  const acts = el('div', { class: 'buttons' }, token, stop);
  root.append(el('h1', { tabindex: -1 }, `Endpoint ${name}`), failure, body, secret, acts);
  let shown = '';
  const load = async () => {
    let d;
    let usage;
    try {
      await readNames(signal);
      [d, { usage }] = await Promise.all([get(path, signal), get(`${path}/usage?hours=24`, signal)]);
    } catch (err) {
      if (err.status !== 404 || !shown) throw err;
      fill(body, el('p', { role: 'status' }, 'The endpoint is gone, and its leases are over. ', el('a', { class: 'link', href: '#/endpoints' }, 'The others'), '.'));
      acts.remove();
      return;
    }
    const now = JSON.stringify([d, usage]);
    if (now === shown) return;
    shown = now;
    if (d.deleting) stop.remove();
    fill(body,
      stats('In short', ['Replicas', replicasOf(d)], ['Requests now', d.activeRequests], ['Waiting', d.waitingRequests],
        ['Costs now, an hour', money(sum(d.replicas.map((r) => r.pricePerHour ?? '0')))]),
      d.deleting && el('p', { role: 'status' }, 'It is being stopped.'),
      d.reason && el('p', { class: 'warn' }, 'The last replica did not serve: ', d.reason, d.retryAt && ['. The next begins at ', when(d.retryAt)]),
            d.replicas.length === 0 ? card({ name: 'Replicas' }, el('p', { class: 'body t2' }, 'None: the first request begins one.')) : table('Replicas', 'Each is a lease.', ['Replica', 'State', 'Lease', 'Requests #', 'USDC an hour #', 'Paid until', 'Note *'],
        d.replicas.map((r) => [r.id, r.phase, r.lease && address(r.lease, 'lease', { href: `#/lease/${encodeURIComponent(r.lease)}`, key: `replica-${r.id}`, name: nameOf(r.lease) }), r.activeRequests, r.pricePerHour, when(r.fundedUntil), r.reason])),
      usageOf(usage),
      inCard({ name: 'For clients' }, describe(['Address', copyField(`${location.origin}/openai/v1`, 'the base URL')], ['Model', el('code', {}, name)], ['Since', when(d.createdAt)])),
      el('details', {}, el('summary', {}, 'What was asked for'), el('pre', { class: 'logs' }, JSON.stringify(d.request, null, 2))));
  };
  await load();
  every(2000, load);
}
