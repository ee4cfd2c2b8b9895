// The form of a deployment.
import { ask, get } from '../api.js';
import { confirmed } from '../dialog.js';
import { choice, describe, el, field, fill } from '../dom.js';
import { stats } from '../parts.js';
import { amount, cost, exact, micro, problem, span } from '../show.js';
import { gpuAndPrice, tried } from './gpu.js';
import { holds } from './choose.js';
import { ordered, whichModel } from './models.js';
import { priceOf } from './request.js';
import { needs, parameters, values } from './parameters.js';
import { mayOrder } from './wallet.js';

function request(f, t, open) {
  const text = (name) => f.elements[name].value.trim();
  const r = {
    ...(open ? { model: open.name } : { template: t.name }), gpu: text('gpu'), count: Number(text('count')), maxPricePerGpuHour: priceOf(f), minReplicas: Number(text('min')), maxReplicas: Number(text('max')),
    idleSeconds: Number(text('idle')) * 60, leaseSeconds: Number(text('lease')) * 60,
  };
  if (r.minReplicas > r.maxReplicas) throw new Error('the least replicas are more than the most');
  const set = values(f, t);
  if (Object.keys(set).length) r.set = set;
  if (text('image')) r.image = text('image');
  if (text('network') === 'none') r.network = 'none';
  if (f.elements.simulated.checked) r.allowSimulated = true;
  return r;
}

// hourly is what so many replicas cost in an hour at most.
const hourly = (r, replicas) => exact(amount(cost(micro(r.maxPricePerGpuHour), r.count * replicas, 3600)));

export async function newendpoint({ root, query, signal }) {
  const [m, status, all, { models }, open] = await Promise.all([get('/v1/market', signal), get('/v1/status', signal), get('/v1/templates', signal), get('/v1/catalogue', signal), ordered(query.get('model'), signal)]);
  const templates = all.templates.filter((x) => x.openai && x.health);
  root.append(el('div', { class: 'view-head' }, el('h1', { tabindex: -1 }, 'New endpoint')));
  if (templates.length === 0) {
    root.append(el('p', { class: 't2' }, 'This server has no template for serving a model.'));
    return;
  }
  const t = open?.template ?? templates.find((x) => x.name === query.get('template')) ?? templates[0];
  const what = choice('what', templates.map((x) => [x.name, x.title]), t.name);
  what.addEventListener('change', () => {
    location.hash = `#/newendpoint?template=${encodeURIComponent(what.value)}`;
  });
  const { gpu, price } = gpuAndPrice(m, open ? m.models.find((x) => holds(x.vramMib, t.gpu.memoryGiB))?.name : tried(m, t));
  if (!open) price.value = t.try.maxPricePerGpuHour;
  const number = (name, value, min, max) => el('input', { name, type: 'number', min, max, value, required: true });
  const name = el('input', { name: 'name', required: true, pattern: '[a-z0-9][a-z0-9._\\-]{0,62}', maxlength: 63, autocomplete: 'off', spellcheck: 'false', placeholder: 'words' });
  const total = el('div', { class: 'wide' });
  const failure = el('div', { class: 'wide' });
  const form = el('form', { class: 'tall' },
    el('div', { class: 'wide stack-12' }, field('Template', what), el('p', {}, t.description), whichModel(models, t, open?.name, (name) => {
      location.hash = `#/newendpoint?${new URLSearchParams({ template: t.name, model: name })}`;
    }), needs(t)),
    field('Name', name, 'The model name that clients send: small letters, digits, . _ -'), parameters(t),
    field('GPU', gpu), field('GPUs of a replica', number('count', t.gpu.count, 1, 8)),
    field('Max price per GPU-hour', price), field('Replicas, at least', number('min', 0, 0, 64), '0: the last one ends when nobody asks, and the first request waits for a new one.'),
    field('Replicas, at most', number('max', 1, 1, 64)), field('Idle minutes before one ends', number('idle', 5, 1, 10_080)),
    field('Minutes that a lease is paid in advance', number('lease', 1440, 1, 525_600), 'What is not used comes back. It is replaced before it ends.'),
    field('Image', el('input', { name: 'image', autocomplete: 'off', spellcheck: 'false', maxlength: 512 }), 'Empty: the template’s.'),
    field('Network', choice('network', [['', 'the template’s'], ['none', 'none']])),
    field('Simulated GPUs too', el('input', { name: 'simulated', type: 'checkbox' }), 'For local networks: such a machine has no GPU.'),
    total, failure, el('div', { class: 'wide' }, el('button', { class: 'btn act' }, 'Create')));
  const draw = () => {
    let [least, most] = ['–', '–'];
    try {
      const r = request(form, t, open);
      [least, most] = [hourly(r, r.minReplicas), hourly(r, r.maxReplicas)];
    } catch { /* it is said when the form is sent */ }
    fill(total, stats('Cost', ['An hour costs at least, idle', least], ['An hour costs at most', most], ['Left of the session key’s cap', exact(status.account.session.left)]));
  };
  form.addEventListener('input', draw);
  let busy = false;
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    if (busy) return;
    busy = true;
    failure.replaceChildren();
    try {
      const r = request(form, t, open);
      const yes = await confirmed({
        title: 'Create this endpoint?', yes: 'Create', body: el('div', {}, describe(['Name', el('code', {}, name.value)], ['Template', t.title],
          ['Replicas', `${r.minReplicas} to ${r.maxReplicas}, each ${r.count} × ${r.gpu}`], ['An hour costs at most', el('strong', {}, hourly(r, r.maxReplicas))],
          ['Reserved in advance', `for ${span(r.leaseSeconds)} of each replica`]),
        el('p', {}, 'The server buys and ends the leases by itself, with its session key, until the endpoint is stopped. The key’s cap bounds what all of them cost.')),
      });
      if (yes) {
        await ask('PUT', `/v1/deployments/${encodeURIComponent(name.value)}`, { body: r, signal });
        location.hash = `#/endpoint/${encodeURIComponent(name.value)}`;
      }
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err, 'Not created'));
    }
    busy = false;
  });
  draw();
  root.append(...(mayOrder(status) ? [] : [el('p', { role: 'status' }, 'The server cannot order yet: ', el('a', { class: 'link', href: '#/wallet' }, 'deposit credits and authorise its session key'), '.')]), form);
}
