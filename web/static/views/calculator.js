// What a machine can be expected to bring in a month, by figures that the owner gives. Nothing of it leaves the browser.
import { get } from '../api.js';
import { describe, el, field, fill } from '../dom.js';
import { inCard } from '../parts.js';
import { exact, nb } from '../show.js';

// hours are those of a twelfth of a year of 365 days.
const hours = 730;

// month reckons a month: what customers pay, the fee, the power, and what is left.
export function month({ gpus, price, use, fee, load, idle, power }) {
  const paid = gpus * price * hours * use;
  const energy = (gpus * (load * use + idle * (1 - use)) * hours) / 1000;
  return { paid, fee: paid * fee, energy, power: energy * power, left: paid - paid * fee - energy * power };
}

const money = (n) => `${n < 0 ? '\u2212' : ''}${exact(Math.abs(n).toFixed(2))}`;

export async function calculator({ root, signal }) {
  const [m, n] = await Promise.all([get('/v1/market', signal), get('/v1/statistics', signal)]);
  const fee = m.params.feeBps;
  const model = n.models[0];
  const input = (name, value, max) => el('input', { name, type: 'number', min: 0, max, step: 'any', value, inputmode: 'decimal', autocomplete: 'off' });
  const result = el('div', { role: 'status' });
  const form = el('form', { class: 'tall', 'aria-label': 'Expected return', on: { submit: (e) => e.preventDefault() } },
    field('GPUs', input('gpus', 1, 1024)),
    field('Price per GPU-hour, USDC', input('price', model?.medianAsk ?? '', 1000), model?.medianAsk ? `The median ask of the ${model.model}, which most machines have, is ${exact(model.medianAsk)}.` : 'What you would ask; the market shows what others do.'),
    field('Use, %', input('use', n.total.utilisationPercent, 100), `${n.total.utilisationPercent}${nb}% of this market’s GPUs are leased now. It changes.`),
    field('Power of a GPU at work, W', input('load', '', 5000), 'With its part of the machine: measure it.'), field('Power of an idle GPU, W', input('idle', '', 5000)),
    field('Price of power, USDC per kWh', input('power', '', 10)), field('What the GPUs have cost, USDC', input('cost', '', 1e9), 'For how long they take to earn it. Empty: not asked.'));
  const draw = () => {
    const value = (name) => Number(form.elements[name].value) || 0;
    const use = Math.min(100, value('use')) / 100;
    const r = month({ gpus: value('gpus'), price: value('price'), use, fee: fee / 10_000, load: value('load'), idle: value('idle'), power: value('power') });
    const cost = value('cost');
    fill(result, describe(
      ['Customers pay', `${value('gpus')} × $${value('price')} × ${hours} h × ${(use * 100).toFixed(2)} % = ${money(r.paid)}`],
      ['The market’s fee', `${(fee / 100).toFixed(2)} % = ${money(r.fee)}`],
      ['Power', value('power') > 0 ? `${value('gpus')} × (${value('load')} W × use + ${value('idle')} W × (1 \u2212 use)) × ${hours} h = ${r.energy.toFixed(1)} kWh = ${money(r.power)}` : 'not taken off: give watts and a price'],
      ['Left in a month', el('strong', {}, money(r.left))],
      ['Earns its price in', cost > 0 && (r.left > 0 ? `${(cost / r.left).toFixed(1)} months` : 'never, by these figures')]));
  };
  form.addEventListener('input', draw);
  draw();
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Calculator'),
    el('p', {}, 'What machines would bring in a month, by your figures. They stay in this browser. It is no promise: a GPU earns only while it is leased, prices change, and stake is at risk.'))),
  el('div', { class: 'lease' }, inCard({ name: 'Your figures' }, form), el('aside', { class: 'stack-16', 'aria-label': 'Result' }, inCard({ name: 'A month' }, result, el('p', { class: 't3 small' }, 'Left = GPUs × price × 730 h × use × (1 \u2212 fee) \u2212 energy × price of power.')))));
}
