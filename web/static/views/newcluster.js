// The form of a cluster.
import { get } from '../api.js';
import { confirmed } from '../dialog.js';
import { choice, describe, el, field, fill } from '../dom.js';
import { stats } from '../parts.js';
import { amount, exact, problem, reserved, span } from '../show.js';
import { gpuAndPrice } from './gpu.js';
import { begin, pending } from './pending.js';
import { environment, priceOf, words } from './request.js';
import { mayOrder } from './wallet.js';

const types = [['ray', 'Ray'], ['torch', 'PyTorch (torchrun)'], ['shell', 'the command on each machine']];

// amountOf is what the cost of a cluster follows from.
function amountOf(f) {
  const number = (name) => Number(f.elements[name].value.trim());
  const seconds = Math.round(number('hours') * 3600);
  if (!(seconds >= 1)) throw new Error('the time must be a number greater than zero');
  return { count: number('count'), nodes: number('nodes'), seconds, maxPricePerGpuHour: priceOf(f) };
}

function request(f) {
  const text = (name) => f.elements[name].value.trim();
  const r = { ...amountOf(f), gpu: text('gpu'), image: text('image'), type: text('type') };
  const command = words(f.elements.command.value);
  if (command.length && r.type === 'ray') throw new Error('Ray takes no command: submit programs when it runs');
  if (!command.length && r.type === 'torch') throw new Error('torchrun needs a command, such as train.py --epochs 3');
  if (command.length) r.command = command;
  const env = environment(f.elements.env.value);
  if (Object.keys(env).length) r.env = env;
  if (Number(text('least'))) r.minNodes = Number(text('least'));
  if (text('region')) r.region = text('region');
  if (text('port')) r.public = [{ name: text('port'), port: Number(text('port')) }];
  if (text('network') === 'none') r.network = 'none';
  if (f.elements.site.checked) r.sameSite = true;
  if (f.elements.simulated.checked) r.allowSimulated = true;
  return r;
}

const most = (r, m) => reserved(m, r.maxPricePerGpuHour, r.count * r.nodes, r.seconds);

export async function newcluster({ root, query, signal }) {
  const [m, status] = await Promise.all([get('/v1/market', signal), get('/v1/status', signal)]);
  const { gpu, price } = gpuAndPrice(m, query.get('gpu') ?? undefined);
  const tick = (name) => el('input', { name, type: 'checkbox' });
  const total = el('div', { class: 'wide' });
  const failure = el('div', { class: 'wide' });
  const form = el('form', { class: 'tall' },
    field('Name', el('input', { name: 'name', required: true, pattern: '[A-Za-z0-9._\\-]{1,64}', maxlength: 64, autocomplete: 'off', spellcheck: 'false', placeholder: 'farm' }), 'Letters, digits, . _ -'),
    field('What runs', choice('type', types, 'ray')),
    field('Machines', el('input', { name: 'nodes', type: 'number', min: 2, max: 64, value: 2, required: true }), 'All or none of them are awarded.'),
    field('Needs at least', el('input', { name: 'least', type: 'number', min: 0, max: 64 }), 'Where fewer machines run for ten minutes, the others are ended. Empty: any number may run.'),
    field('GPU', gpu), field('How many, on each machine', el('input', { name: 'count', type: 'number', min: 1, max: 8, value: 1, required: true })),
    field('Hours', el('input', { name: 'hours', inputmode: 'decimal', required: true, value: 1, maxlength: 12 })),
    field('Max price per GPU-hour', price),
    field('Image', el('input', { name: 'image', required: true, autocomplete: 'off', spellcheck: 'false', maxlength: 512, placeholder: 'rayproject/ray:2.60.0-gpu' }), 'The image needs /bin/sh, and Ray or PyTorch with Python.'),
    field('Command', el('input', { name: 'command', autocomplete: 'off', spellcheck: 'false', maxlength: 4096 }), 'For PyTorch: the program and its arguments. For Ray: none.'),
    field('Environment', el('textarea', { name: 'env', rows: 3, spellcheck: 'false', autocomplete: 'off' }), 'A line for each: NAME=VALUE. The machines’ providers could read it.'),
    field('Public port', el('input', { name: 'port', type: 'number', min: 1, max: 65535 }), 'A port of node-0 that a gateway gives a public address. Empty: none.'),
    field('Region begins with', el('input', { name: 'region', autocomplete: 'off', maxlength: 16 }), 'Empty: any.'),
    field('Network', choice('network', [['internet', 'internet'], ['none', 'the private network alone']])),
    field('All at one site', tick('site')), field('Simulated GPUs too', tick('simulated'), 'For local networks: such a machine has no GPU.'),
    total, failure, el('div', { class: 'wide' }, el('button', { class: 'btn act' }, 'Deploy')));
  const draw = () => {
    let text = '–';
    try {
      text = exact(amount(most(amountOf(form), m)));
    } catch { /* it is said when the form is sent */ }
    fill(total, stats('Cost', ['Reserved now, the most it can cost', text], ['Free credits', exact(status.account.free)], ['Left of the session key’s cap', exact(status.account.session.left)]));
  };
  form.addEventListener('input', () => {
    failure.replaceChildren();
    draw();
  });
  let asking = false;
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    if (asking) return; // twice in a row
    asking = true;
    failure.replaceChildren();
    try {
      if (pending()) throw new Error('a purchase is under way: look at it, or forget it there, before the next one');
      const r = request(form);
      const name = form.elements.name.value;
      const { clusters } = await get('/v1/clusters', signal);
      if (clusters.some((c) => c.name === name)) throw new Error(`there is a cluster ${name} already: choose another name`);
      const yes = await confirmed({
        title: 'Deploy this cluster?', yes: 'Deploy',
        body: el('div', {}, describe(['Name', name], ['Machines', r.nodes], ['GPUs', `${r.count} × ${r.gpu} on each`], ['Time', span(r.seconds)], ['Max price', `${exact(r.maxPricePerGpuHour)} an hour`],
          ['Reserved now, the most it can cost', el('strong', {}, exact(amount(most(r, m))))], ['Runs', types.find(([t]) => t === r.type)[1]], ['Image', r.image], ['Command', r.command && el('code', {}, JSON.stringify(r.command))],
          ['Simulated', r.allowSimulated && 'machines without GPUs may be awarded']),
        el('p', {}, 'The most that it can cost is reserved from the credits now. What is paid is the time that the machines have served; the rest comes back.')),
      });
      if (yes) begin(r, '/v1/clusters', name);
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err, 'Not ordered'));
    }
    asking = false;
  });
  draw();
  fill(root, el('h1', { tabindex: -1 }, 'New cluster'),
    !mayOrder(status) && el('p', { role: 'status' }, 'The server cannot order yet: ', el('a', { class: 'link', href: '#/wallet' }, 'deposit credits and authorise its session key'), '.'),
    pending() && el('p', { role: 'status' }, 'A purchase is under way: ', el('a', { class: 'link', href: `#/purchase/${pending().key}` }, 'look at it'), '.'), form);
}
