// A purchase on its way: it repeats the request with its key until there is a lease, or an error that repeating does not mend.
import { ask } from '../api.js';
import { describe, el, fill } from '../dom.js';
import { inCard } from '../parts.js';
import { exact, nb, problem, span } from '../show.js';
import { over, pending } from './pending.js';
import { machines } from './request.js';

// again are the statuses after which the same request may succeed, and the purchase may be on the chain.
const again = [0, 401, 500, 502, 503, 504];

export async function purchase({ root, argument, signal }) {
  const p = pending();
  const body = el('div');
  root.append(el('h1', { tabindex: -1 }, 'Purchase'), body);
  if (!p || p.key !== argument) {
    body.append(el('p', {}, 'This tab knows no purchase of this name. What was bought is among the ', el('a', { class: 'link', href: '#/leases' }, 'leases'), '.'));
    return;
  }
  const r = p.request;
  const what = describe(['Machines', machines(r) > 1 && machines(r)], ['GPUs', `${r.count || 1} × ${r.gpu}`], ['Time', span(r.seconds)], ['Max price', `${exact(r.maxPricePerGpuHour)}${nb}/h`], ['Name', el('code', {}, `http/${p.key}`)]);
  // comes shows how far the machine has fetched the image, once it is known which machine.
  const place = el('div');
  let shown = '';
  let leave = new AbortController();
  signal.addEventListener('abort', () => leave.abort());
  const comes = async (lease) => {
    if (shown === lease) return;
    shown = lease;
    leave.abort(); // another machine has the order now
    const mine = leave = new AbortController();
    const { image } = await import('./image.js');
    if (!signal.aborted && mine === leave) fill(place, image(lease, mine.signal));
  };
  const go = async () => {
    fill(body, el('div', { class: 'lease' }, el('div', { class: 'gap' }, inCard({ name: 'Under way' }, el('p', { role: 'status', class: 't2' }, 'Ordering, and waiting until the machine starts. If you reload the page, this purchase continues, and nothing is bought twice.'),
      el('ol', { class: 'stepper mt' }, ['Reserve and order', 'A keeper awards it to the best machine', 'The machine brings up the job'].map((text, i) => el('li', { class: i === 0 ? 'now' : 'todo-s' }, el('span', { class: 'm' }), el('span', {}, text))), el('li', { class: 'todo-s' }, el('span', { class: 'm' }), el('span', {}, 'Running: billing begins')))), place), el('aside', { class: 'stack-16', 'aria-label': 'What is bought' }, inCard({ name: 'What is bought', level: 'h3' }, what))));
    try {
      for (;;) {
        const { status, body: o } = await ask('POST', p.path, { body: r, headers: { 'Idempotency-Key': p.key }, signal });
        if (status !== 201) { // the server has waited already
          if (o.leases?.length === 1 && (r.image || /^\/v1\/(templates|catalogue)\//.test(p.path))) comes(o.leases[0].address);
          continue;
        }
        over();
        location.replace(p.path === '/v1/clusters' ? `#/cluster/${encodeURIComponent(p.key)}` : o.leases.length === 1 ? `#/lease/${encodeURIComponent(o.leases[0].address)}` : '#/leases');
        return;
      }
    } catch (err) {
      if (signal.aborted) return;
      const retry = again.includes(err.status);
      if (!retry) over();
      fill(body, problem(err), what, el('div', { class: 'buttons' },
        retry && el('button', { type: 'button', class: 'btn act', on: { click: go } }, 'Try again'),
        retry && el('button', { type: 'button', class: 'btn', on: { click: forget } }, 'Forget it here'),
        !retry && el('a', { class: 'btn', href: p.path === '/v1/clusters' ? '#/newcluster' : `#/deploy?${new URLSearchParams({ gpu: r.gpu, price: r.maxPricePerGpuHour, simulated: r.allowSimulated ? '1' : '' })}` }, 'Change it')),
      retry && el('p', { class: 't3 small' }, 'An order that is sent stays on the chain, and may become a lease. ', el('code', {}, 'gantry resume'), ' continues it too.'));
    }
  };
  const forget = () => {
    over();
    location.hash = '#/leases';
  };
  // The view is shown while the purchase runs.
  go();
}
