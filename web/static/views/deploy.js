// Rents a machine and runs something on it: what runs, on which GPU, and three fields; what it can cost is always in view.
import { get } from '../api.js';
import { el, fill, icon, svg } from '../dom.js';
import { measured } from '../figures.js';
import { claim, copyField, marks } from '../parts.js';
import { amount, dollars, exact, micro, plural, problem, span, uptime } from '../show.js';
import { holds, whatRuns, whichGpu } from './choose.js';
import { ordered, whichModel } from './models.js';
import { needs } from './parameters.js';
import { imageRuns } from './imageruns.js';
import { begin, pending } from './pending.js';
import { command, machines, most, request, search } from './request.js';
import { settings } from './settings.js';
import { mayOrder } from './wallet.js';

const hidden = (name, value) => el('input', { type: 'hidden', name, value });

// sums are an order’s amounts: reserved, likely cost, and the balance after it.
function sums(r, m, account, best) {
  const held = most(r, m);
  const likely = best ? most(r, m, best.pricePerGpuHour) : null;
  const free = micro(account.free) ?? 0n;
  return { held, likely: likely === null || likely > held ? held : likely, known: likely !== null, free, after: free - held };
}

function bar({ held, likely }) {
  const width = held > 0n ? Number((340n * likely) / held) : 0;
  return svg('svg', { class: 'full', viewBox: '0 0 340 12', role: 'img', 'aria-label': `${exact(amount(held))} reserved, about ${exact(amount(likely))} used` }, svg('rect', { class: 'f-reserved', width: 340, height: 12, rx: 4 }), svg('rect', { class: 'f-ink', width, height: 12, rx: 4 }));
}

const pair = (name, value, cls) => el('div', { class: cls }, el('span', { class: 't2' }, name), el('span', {}, value));

// what is what an order is for, in a tag.
const what = (r) => `${machines(r) > 1 ? `${machines(r)} × ` : ''}${r.count} × ${r.gpu} · ${span(r.seconds)}`;

function summary(r, m, account, best) {
  const s = sums(r, m, account, best);
  const time = span(Math.max(r.seconds, m.params.startDeadlineSecs));
  const gpus = r.count * machines(r);
  return [
    el('div', { class: 'stack-2' }, el('span', { class: 't3 small' }, 'Reserved now, the most it can cost'), el('span', { class: 'big' }, exact(amount(s.held)))), el('div', {}, el('span', { class: 'tag' }, what(r))), bar(s),
    el('div', { class: 'lines' }, pair(`Your max, ${exact(r.maxPricePerGpuHour)} × ${gpus > 1 ? `${gpus} × ` : ''}${time}`, exact(amount(s.held))),
      s.known && pair(`Best machine now, ${exact(best.pricePerGpuHour)} × ${gpus > 1 ? `${gpus} × ` : ''}${time}`, exact(amount(s.likely))),
      s.known && s.held > s.likely && pair('Free again when it is awarded', exact(amount(s.held - s.likely))),
      pair('Balance after', s.after < 0n ? el('span', { class: 'bad' }, `${exact(amount(-s.after))} too little`) : `${exact(account.free)} → ${exact(amount(s.after))}`, 't')),
    r.untilStopped && el('p', { class: 't3 small' }, `Extended until it is stopped${r.budget ? `, or ${exact(r.budget)} are used up` : ''}.`),
  ];
}

const steps = (held) => el('ol', { class: 'next' }, el('li', {}, `Reserve ${held}`), el('li', {}, 'Award to the best machine'), el('li', {}, 'Measure the GPU where that is asked, bring up the job'), el('li', { class: 'bill' }, el('b', { class: 'medium txt' }, 'Running: billed from here')));

function bestCard(offers, r, runs) {
  const fit = offers.filter((o) => Number(o.pricePerGpuHour) <= Number(r.maxPricePerGpuHour));
  const o = fit[0];
  if (!o) return el('section', { class: 'card best' }, el('p', { class: 'small' }, offers.length > 0 ? `No machine asks so little: ${plural(offers.length, 'machine')} from ${dollars(String(Math.min(...offers.map((x) => Number(x.pricePerGpuHour)))))}.` : 'No machine fits now: the order would be refused.'));
  return el('section', { class: 'card best' }, el('div', { class: 'row between' }, el('span', { class: 't3 small' }, 'Best machine now'), el('span', { class: 'small t2' }, `${fit.length - 1} more`)),
    el('div', { class: 'row between wrap' }, el('span', { class: 'medium row tight' }, `${o.gpus} × ${o.model}`, marks(o)), claim(o.region || 'not said')),
    el('div', { class: 'row wide top' }, el('div', { class: 'half' }, measured(o)), el('div', { class: 'half tiny' }, el('span', { class: 'medium' }, uptime(o.uptimePercent), ' up'), el('span', { class: 't3' }, plural(o.jobsCompleted, 'lease')))), runs);
}

export async function deploy({ root, query, signal, about }) {
  const waiting = pending();
  const [m, status, { templates }, statistics, { models }, open] = await Promise.all([get('/v1/market', signal), get('/v1/status', signal), get('/v1/templates', signal), get('/v1/statistics', signal), get('/v1/catalogue', signal), ordered(query.get('model'), signal)]);
  const t = open?.template ?? templates.find((x) => x.name === query.get('template')) ?? null;
  const inMarket = (name) => m.models.find((x) => x.name === name) ?? m.models.find((x) => name && x.name.includes(name));
  const large = open && statistics.models.map((x) => inMarket(x.model)).find((x) => x && holds(x.vramMib, t.gpu.memoryGiB));
  const model = inMarket(query.get('gpu')) ?? (open ? large : inMarket(t?.try.gpu)) ?? inMarket(statistics.models[0]?.model) ?? m.models[0];
  const inputs = { gpu: hidden('gpu', model?.name ?? ''), count: hidden('count', t?.gpu.count ?? 1) };
  const asked = query.get('price') || (t && !open && model?.name.includes(t.try.gpu) ? t.try.maxPricePerGpuHour : model?.referencePrice ?? '');
  const set = settings({ template: t, local: about.local, minutes: t?.try.minutes ?? (about.local ? 10 : 60), price: asked, wantsSimulated: query.get('simulated') === '1', signal });
  const failure = el('div');
  const total = el('div', { class: 'stack-16' });
  const best = el('div');
  const runs = imageRuns(signal);
  const line = el('div');
  const next = el('div', { class: 'body' });
  const said = el('div');
  // What is in the button stays there: a press whose start was on an element that is gone by its end is no click.
  const reserve = el('span', { class: 'op7' });
  const button = el('button', { class: 'btn act lg' }, 'Deploy', reserve);
  const sheetButton = el('button', { class: 'btn act end' }, 'Deploy');
  let offers = [];
  const draw = () => {
    failure.replaceChildren();
    let r;
    try {
      r = request(form, t, set.rest);
    } catch (err) {
      fill(total, el('p', { class: 't2 small' }, `${err.message}.`));
      return null;
    }
    const first = offers.find((o) => Number(o.pricePerGpuHour) <= Number(r.maxPricePerGpuHour));
    const held = exact(amount(most(r, m)));
    fill(total, summary(r, m, status.account, first));
    reserve.textContent = `· reserve ${held}`;
    fill(said, el('div', { class: 't3 tiny' }, `${what(r)} · reserved`), el('div', { class: 'sheet-v' }, held));
    fill(next, steps(held));
    runs.ask(search(r, t), r.maxPricePerGpuHour, r.unrecorded || r.attest ? '' : r.image ?? t?.image ?? '');
    fill(best, bestCard(offers, r, runs.place));
    fill(line, copyField(command(r, t, open), 'the command'));
    set.draw(offers);
    return r;
  };
  let mine = 0;
  const find = async () => {
    const r = draw();
    if (!r) return;
    const turn = ++mine;
    const found = await get(`/v1/offers?${new URLSearchParams({ q: search(r, t), limit: '200' })}`, signal).catch(() => null); // what is wrong is said when it is sent
    if (turn !== mine || !found || signal.aborted) return;
    offers = found.offers;
    draw();
  };
  let typing;
  const later = () => {
    draw();
    clearTimeout(typing);
    typing = setTimeout(find, 250);
  };
  const form = el('form', { on: {
    input: later, change: later,
    submit: (e) => {
      e.preventDefault();
      failure.replaceChildren();
      try {
        if (pending()) throw new Error('a purchase is under way: look at it, or forget it there, before the next one');
        begin(request(form, t, set.rest), open?.path ?? (t ? `/v1/templates/${encodeURIComponent(t.name)}/orders` : undefined));
      } catch (err) {
        failure.replaceChildren(problem(err, 'Not ordered'));
        failure.scrollIntoView({ block: 'nearest' });
      }
    },
  } }, inputs.gpu, inputs.count, el('div', { class: 'deploy' },
    el('div', { class: 'stack-28' },
      whatRuns(templates, t, (x) => {
        location.hash = `#/deploy?${new URLSearchParams({ ...Object.fromEntries(query), template: x?.name ?? '', model: '' })}`;
      }), whichModel(models, t, open?.name, (name) => {
        location.hash = `#/deploy?${new URLSearchParams({ ...Object.fromEntries(query), template: t.name, model: name, gpu: '', price: '' })}`;
      }), t && needs(t),
      whichGpu({ models: m.models, statistics, template: t, inputs, changed: (x) => {
        if (x && !query.get('price')) set.price.value = x.referencePrice;
        find();
      } }), set.part, failure),
    el('aside', { class: 'sum', 'aria-label': 'Price' }, el('section', { class: 'card' }, el('div', { class: 'body stack-16' }, total, button, el('p', { class: 't3 tiny center' }, 'You pay for seconds that were served. The rest comes back.')), el('hr'), next), best, line)),
  el('div', { class: 'sheet' }, said, sheetButton));
  fill(root, el('h1', { tabindex: -1 }, 'Deploy'),
    !mayOrder(status) && el('p', { role: 'status', class: 'note' }, icon('info'), el('span', {}, 'The server cannot order yet: ', el('a', { class: 'link', href: '#/wallet' }, 'deposit credits and authorise its session key'), '.')),
    waiting && el('p', { role: 'status', class: 'note' }, icon('clock'), el('span', {}, 'A purchase is under way: ', el('a', { class: 'link', href: `#/purchase/${waiting.key}` }, 'look at it'), '.')), el('div', { class: 'mt' }, form));
  await find();
}
