// A purchase on its way: it repeats the request with its key until there is a lease, or an error that repeating does not mend.
import { ask } from '../api.js';
import { describe, el, fill } from '../dom.js';
import { problem, span, usdc } from '../show.js';
import { over, pending } from './pending.js';

// again are the statuses after which the same request may succeed, and the purchase may be on the chain.
const again = [0, 401, 500, 502, 503, 504];

export async function purchase({ root, argument, signal }) {
  const p = pending();
  const body = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Purchase'), body);
  if (!p || p.key !== argument) {
    body.append(el('p', {}, 'This tab knows no purchase of this name. What was bought is among the ', el('a', { href: '#/leases' }, 'leases'), '.'));
    return;
  }
  const r = p.request;
  const what = describe(['Machines', Math.max(r.nodes ?? 1, r.redundancy ?? 1) > 1 && Math.max(r.nodes ?? 1, r.redundancy ?? 1)], ['GPUs', `${r.count || 1} × ${r.gpu}`], ['Time', span(r.seconds)], ['Price, at most', `${usdc(r.maxPricePerGpuHour)} per GPU-hour`], ['Name', el('code', {}, `http/${p.key}`)]);
  const go = async () => {
    fill(body, el('p', { role: 'status' }, 'Ordering, and waiting until the machine has started. A reload goes on with this purchase and buys nothing twice.'), what);
    try {
      for (;;) {
        const { status, body: o } = await ask('POST', p.path, { body: r, headers: { 'Idempotency-Key': p.key }, signal });
        if (status !== 201) continue; // the server has waited already
        over();
        location.replace(p.path === '/v1/clusters' ? `#/cluster/${encodeURIComponent(p.key)}` : o.leases.length === 1 ? `#/lease/${encodeURIComponent(o.leases[0].address)}` : '#/leases');
        return;
      }
    } catch (err) {
      if (signal.aborted) return;
      const retry = again.includes(err.status);
      if (!retry) over();
      fill(body, problem(err), what, el('div', { class: 'buttons' },
        retry && el('button', { type: 'button', class: 'act', on: { click: go } }, 'Go on with it'),
        retry && el('button', { type: 'button', on: { click: forget } }, 'Forget it here'),
        !retry && el('a', { href: p.path === '/v1/clusters' ? '#/newcluster' : `#/order?${new URLSearchParams({ gpu: r.gpu, price: r.maxPricePerGpuHour, simulated: r.allowSimulated ? '1' : '' })}` }, 'Order again')),
      retry && el('p', { class: 'note' }, 'An order that is sent stays on the chain, and may become a lease. ', el('code', {}, 'gantry resume'), ' goes on with it too.'));
    }
  };
  const forget = () => {
    over();
    location.hash = '#/leases';
  };
  // The view is shown while the purchase runs.
  go();
}
