// The form of an order.
import { get } from '../api.js';
import { confirmed } from '../dialog.js';
import { choice, describe, el, field, figure, fill } from '../dom.js';
import { amount, plural, problem, reserved, span, usdc } from '../show.js';
import { gpuAndPrice, priceOf, tried } from './gpu.js';
import { more, title } from './more.js';
import { needs, parameters, values } from './parameters.js';
import { begin, pending } from './pending.js';
import { mayOrder } from './wallet.js';

// words splits a command line at spaces; quotes hold a part together, and a backslash outside of single quotes takes the
// next character as it is. Nothing else is special: no variables, no wildcards.
export function words(line) {
  const out = [];
  let word = null;
  let quote = '';
  for (let i = 0; i < line.length; i++) {
    const c = line[i];
    if (c === '\\' && quote !== "'" && i + 1 < line.length) word = (word ?? '') + line[++i];
    else if (quote && c === quote) quote = '';
    else if (quote) word += c;
    else if (c === '"' || c === "'") [quote, word] = [c, word ?? ''];
    else if (!/\s/.test(c)) word = (word ?? '') + c;
    else if (word !== null) [word] = [null, out.push(word)];
  }
  if (quote) throw new Error(`the command has an open ${quote}`);
  if (word !== null) out.push(word);
  return out;
}

// environment reads lines NAME=VALUE.
export function environment(text) {
  const out = {};
  for (const line of text.split('\n').filter((l) => l.trim() !== '')) {
    const at = line.indexOf('=');
    if (at < 1) throw new Error(`the environment has a line without a name and "=": ${line}`);
    out[line.slice(0, at).trim()] = line.slice(at + 1);
  }
  return out;
}

// has are the fields of an order that the form has a control of its own for.
const has = new Set([
  'gpu', 'count', 'seconds', 'maxPricePerGpuHour', 'region', 'minTops', 'minGigabytesPerSecond', 'minDownMbps', 'allowSimulated', 'network', 'volume', 'image', 'inspect', 'migrate', 'untilStopped', 'budget', 'command', 'entrypoint',
  'user', 'env', 'runToCompletion',
]);

// request is what the API's order takes, from the form; of a template, what an order of it takes.
function request(f, t, rest) {
  const text = (name) => f.elements[name].value.trim();
  const hours = Number(text('time'));
  const seconds = Math.round(hours * Number(text('unit')));
  if (!(seconds >= 1)) throw new Error('the time must be a number greater than zero');
  const r = { gpu: text('gpu'), count: Number(text('count')), seconds, maxPricePerGpuHour: priceOf(f) };
  if (text('region')) r.region = text('region');
  if (f.elements.simulated.checked) r.allowSimulated = true;
  if (text('network') === 'none') r.network = 'none';
  if (text('volume')) r.volume = text('volume');
  if (text('image')) r.image = text('image');
  if (text('inspect')) r.inspect = text('inspect');
  if (f.elements.migrate.checked) r.migrate = true;
  if (f.elements.until.checked) r.untilStopped = true;
  if (text('budget')) r.budget = text('budget');
  if (t) {
    const set = values(f, t);
    return Object.keys(set).length ? { ...r, set } : r;
  }
  if (text('tops')) r.minTops = text('tops');
  if (text('bandwidth')) r.minGigabytesPerSecond = text('bandwidth');
  if (text('down')) r.minDownMbps = Number(text('down'));
  const command = words(f.elements.command.value);
  if (command.length) r.command = command;
  if (text('entrypoint')) r.entrypoint = text('entrypoint');
  if (text('user')) r.user = text('user');
  const env = environment(f.elements.env.value);
  if (Object.keys(env).length) r.env = env;
  if (f.elements.completion.checked) r.runToCompletion = true;
  return { ...r, ...rest.values() };
}

// machines are how many an order takes: a redundant job runs on each of several.
const machines = (r) => Math.max(r.nodes ?? 1, r.redundancy ?? 1);

const most = (r, m) => reserved(m, r.maxPricePerGpuHour, r.count * machines(r), r.seconds);

export async function order({ root, query, signal }) {
  const waiting = pending();
  const [m, status, { templates }] = await Promise.all([get('/v1/market', signal), get('/v1/status', signal), get('/v1/templates', signal)]);
  const local = status.cluster.name === 'localnet';
  const t = templates.find((x) => x.name === query.get('template'));
  const wanted = query.get('gpu') ?? (t && tried(m, t));
  const { gpu, price } = gpuAndPrice(m, wanted);
  price.value = query.get('price') || (t && wanted?.includes(t.try.gpu) ? t.try.maxPricePerGpuHour : price.value);
  const ticked = (name, on) => {
    const box = el('input', { name, type: 'checkbox' });
    box.checked = on;
    return box;
  };
  const rest = more(has, signal);
  const total = el('div', { class: 'figures wide' });
  const failure = el('div', { class: 'wide' });
  const minutes = t?.try.minutes ?? (local ? 10 : 60);
  const what = choice('what', [['', 'an image or a command'], ...templates.map((x) => [x.name, x.title])], t?.name ?? '');
  what.addEventListener('change', () => {
    location.hash = `#/order?${new URLSearchParams({ ...Object.fromEntries(query), template: what.value })}`;
  });
  const form = el('form', { class: 'tall' },
    el('div', { class: 'wide' }, field('What runs', what), t && [el('p', {}, t.description), needs(t)]),
    t && parameters(t),
    field('GPU', gpu), field('How many, on one machine', el('input', { name: 'count', type: 'number', min: 1, max: 8, value: t?.gpu.count ?? 1, required: true })),
    field('For how long', el('input', { name: 'time', inputmode: 'decimal', required: true, value: minutes % 60 ? minutes : minutes / 60, maxlength: 12 })),
    field('Unit of the time', choice('unit', [['60', 'minutes'], ['3600', 'hours'], ['86400', 'days']], minutes % 60 ? '60' : '3600')),
    field('At most, USDC per GPU-hour', price, 'The order goes to the best offer at or below this price, at the price that it asks.'),
    field('Region begins with', el('input', { name: 'region', autocomplete: 'off', maxlength: 16 }), 'Empty: any.'),
    !t && field('Measured TOPS, at least', el('input', { name: 'tops', inputmode: 'decimal', autocomplete: 'off', maxlength: 12 }), 'Int8 operations of each GPU, as keepers have measured them. Empty: any.'),
    !t && field('Measured GB/s, at least', el('input', { name: 'bandwidth', inputmode: 'decimal', autocomplete: 'off', maxlength: 12 }), 'Of each GPU’s memory. Empty: any.'),
    !t && field('Measured Mbit/s down, at least', el('input', { name: 'down', type: 'number', min: 1 }), 'To the machine. Empty: any.'),
    field('Image', el('input', { name: 'image', autocomplete: 'off', spellcheck: 'false', maxlength: 512 }),
      t ? 'Empty: the template’s.' : local ? 'A container image. Without one, machines of a local network run a command as it is.' : 'A container image, such as python:3.13-slim.'),
    !t && field('Command', el('input', { name: 'command', autocomplete: 'off', spellcheck: 'false', maxlength: 4096 }), 'Split at spaces; quotes hold a part together. Empty: the image’s own.'),
    !t && field('Entry point', el('input', { name: 'entrypoint', autocomplete: 'off', spellcheck: 'false', maxlength: 4096 }), 'A program in place of the image’s entry point and command. Empty: the image’s.'),
    !t && field('User', el('input', { name: 'user', autocomplete: 'off', spellcheck: 'false', maxlength: 256 }), 'A name of the image’s or a number, such as root or 1000:1000. Empty: the image’s.'),
    !t && field('Environment', el('textarea', { name: 'env', rows: 3, spellcheck: 'false', autocomplete: 'off' }), 'A line for each: NAME=VALUE. The machine’s provider could read it.'),
    field('Volume', el('input', { name: 'volume', autocomplete: 'off', spellcheck: 'false', maxlength: 256, placeholder: t?.volume ?? 'data:50GiB:/data' }), `NAME:SIZE:PATH, an encrypted disk for the container. Empty: ${t?.volume ? 'the template’s' : 'none'}.`),
    field('Network', choice('network', [['internet', t && t.network === 'none' ? 'the template’s: none' : 'internet'], ['none', 'none']])),
    field('Extend until it is stopped', ticked('until', false), 'The server pays for as much time again shortly before the end, up to the budget.'),
    field('Budget, USDC', el('input', { name: 'budget', inputmode: 'decimal', autocomplete: 'off', maxlength: 24 }), 'The most that order and extensions may cost. Empty: what is free in the credits and left of the session key’s cap.'),
    field('Move when the machine fails', ticked('migrate', false), 'Another machine begins the job anew for the time that is left, at no higher price. The server brings it there.'),
    field('Inspect the machine', choice('inspect', [['', 'no'], ['auto', 'one lease in eight'], ['always', 'yes']]),
      'Measures it once at a random second of the lease, beside the job, from which that takes a little memory and a few seconds. The lease of a machine that does not pass is ended.'),
    !t && field('The lease ends with the job', ticked('completion', true), 'Else the machine is kept until the time is over or the lease is stopped.'),
    field('Simulated GPUs too', ticked('simulated', query.get('simulated') === '1'), 'For local networks: such a machine has no GPU.'),
    !t && rest.part, total, failure, el('div', { class: 'wide' }, el('button', { class: 'act' }, 'Go on')));

  const draw = () => {
    let text = '–';
    try {
      text = usdc(amount(most(request(form, t, rest), m)));
    } catch { /* it is said when the form is sent */ }
    fill(total, figure('Costs at most', text), figure('Free credits', usdc(status.account.free)), figure('Left of the session key’s cap', usdc(status.account.session.left)));
  };
  form.addEventListener('input', draw);
  let asking = false;
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    if (asking) return; // twice in a row
    asking = true;
    failure.replaceChildren();
    try {
      if (pending()) throw new Error('a purchase is under way: look at it, or forget it there, before the next one');
      const r = request(form, t, rest);
      const terms = [`gpu=${r.gpu.replace(/\s/g, '')}`, `price<=${r.maxPricePerGpuHour}`, `count>=${r.count}`, r.region && `region=${r.region}`, r.minTops && `tops>=${r.minTops}`,
        r.minGigabytesPerSecond && `bandwidth>=${r.minGigabytesPerSecond}`, r.minDownMbps && `down>=${r.minDownMbps}`,
        r.cpus && `cpus>=${r.cpus}`, r.memoryMiB && `ram>=${Math.ceil(r.memoryMiB / 1024)}`, r.diskMiB && `disk>=${Math.ceil(r.diskMiB / 1024)}`, r.cuda && `cuda>=${r.cuda}`,
        (t || r.image) && 'sandbox', !r.allowSimulated && 'real'];
      const { offers } = await get(`/v1/offers?${new URLSearchParams({ q: terms.filter(Boolean).join(' ') })}`, signal);
      const yes = await confirmed({
        title: 'Buy this?', yes: 'Buy', no: 'Change it',
        body: el('div', {}, describe(
          ['Template', t?.title], ['Machines', machines(r) > 1 && machines(r)], ['GPUs', `${r.count} × ${r.gpu}`], ['Time', span(r.seconds)],
          ['Price', offers.length ? `${usdc(offers[0].pricePerGpuHour)} per GPU-hour is what the best of ${plural(offers.length, 'node')} asks` : 'no node fits now: the order will be refused'],
          ['Price, at most', `${usdc(r.maxPricePerGpuHour)} per GPU-hour`],
          ['Costs at most', el('strong', {}, usdc(amount(most(r, m))))], ['Image', r.image ?? t?.image], ['Volume', r.volume], ['Command', r.command && el('code', {}, JSON.stringify(r.command))], ['Entry point', r.entrypoint], ['User', r.user], ['Until', r.untilStopped && (r.budget ? `it is stopped, or ${usdc(r.budget)} are used up` : 'it is stopped')], ['When the machine fails', r.migrate && 'another one takes the job'],
          ...(t ? [] : Object.entries(rest.values()).map(([name, v]) => [title(name), el('code', {}, JSON.stringify(v))])),
          ['Simulated', r.allowSimulated && 'a machine without a GPU may be awarded']),
        el('p', {}, 'The most that it can cost is reserved from the credits now. What is paid is the time that the machine has served; the rest comes back. The server signs with its session key.')),
      });
      if (yes) begin(r, t ? `/v1/templates/${encodeURIComponent(t.name)}/orders` : undefined);
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err, 'Not ordered'));
    }
    asking = false;
  });
  draw();
  fill(root, el('h1', { tabindex: -1 }, 'Order'),
    !mayOrder(status) && el('p', { role: 'status' }, 'The server cannot order yet: ', el('a', { href: '#/wallet' }, 'deposit credits and authorise its session key'), '.'),
    waiting && el('p', { role: 'status' }, 'A purchase is under way: ', el('a', { href: `#/purchase/${waiting.key}` }, 'look at it'), '.'), form);
}
