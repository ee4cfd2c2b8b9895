// What a machine can be expected to bring in a month, by figures that the owner gives. Nothing of it leaves the browser.
import { get } from '../api.js';
import { describe, el, field, fill } from '../dom.js';

// hours are those of a twelfth of a year of 365 days.
const hours = 730;

// month reckons a month: what customers pay, the fee, the power, and what is left.
export function month({ gpus, price, use, fee, load, idle, power }) {
  const paid = gpus * price * hours * use;
  const energy = (gpus * (load * use + idle * (1 - use)) * hours) / 1000;
  return { paid, fee: paid * fee, energy, power: energy * power, left: paid - paid * fee - energy * power };
}

const money = (n) => `${n < 0 ? '−' : ''}${Math.abs(n).toFixed(2)} USDC`;

// returns is the calculator for a provider; without one it begins with nothing.
export async function returns(p, signal) {
  const [m, n] = await Promise.all([get('/v1/market', signal), get('/v1/statistics', signal)]);
  const first = p?.machines.find((x) => x.status === 'active') ?? p?.machines[0];
  const fee = p?.feeBps ?? m.params.feeBps;
  const model = n.models.find((x) => x.model === first?.model);
  const input = (name, value, max) => el('input', { name, type: 'number', min: 0, max, step: 'any', value, inputmode: 'decimal', autocomplete: 'off' });
  const result = el('div', { class: 'wide', role: 'status' });
  const form = el('form', { class: 'tall', 'aria-label': 'Expected return', on: { submit: (e) => e.preventDefault() } },
    field('GPUs', input('gpus', first?.gpus ?? 1, 1024)),
    field('Price, USDC per GPU-hour', input('price', first?.pricePerGpuHour ?? '', 1000), first ? 'What the machine asks now.' : 'What you would ask; the market shows what others do.'),
    field('Use, %', input('use', model?.utilisationPercent ?? n.total.utilisationPercent, 100), model ? `Of the ${model.model} in this market, ${model.utilisationPercent} % are leased now. It changes.` : `${n.total.utilisationPercent} % of this market’s GPUs are leased now. It changes.`),
    field('Power of a GPU at work, W', input('load', '', 5000), 'With its part of the machine: measure it.'), field('Power of an idle GPU, W', input('idle', '', 5000)),
    field('Price of power, USDC per kWh', input('power', '', 10)), field('What the GPUs have cost, USDC', input('cost', '', 1e9), 'For how long they take to earn it. Empty: not asked.'), result);
  const draw = () => {
    const value = (name) => Number(form.elements[name].value) || 0;
    const use = Math.min(100, value('use')) / 100;
    const r = month({ gpus: value('gpus'), price: value('price'), use, fee: fee / 10_000, load: value('load'), idle: value('idle'), power: value('power') });
    const cost = value('cost');
    fill(result, describe(
      ['Customers pay', `${value('gpus')} × ${value('price')} USDC × ${hours} h × ${(use * 100).toFixed(2)} % = ${money(r.paid)}`],
      ['The market’s fee', `${(fee / 100).toFixed(2)} % = ${money(r.fee)}`],
      ['Power', value('power') > 0 ? `${value('gpus')} × (${value('load')} W × use + ${value('idle')} W × (1 − use)) × ${hours} h = ${r.energy.toFixed(1)} kWh = ${money(r.power)}` : 'not taken off: give watts and a price'],
      ['Left in a month', el('strong', {}, money(r.left))],
      ['Earns its price in', cost > 0 && (r.left > 0 ? `${(cost / r.left).toFixed(1)} months` : 'never, by these figures')]));
  };
  form.addEventListener('input', draw);
  draw();
  return el('section', { class: 'card' }, el('h2', {}, 'Expected return'),
    el('p', { class: 'note' }, 'Left = GPUs × price × 730 h × use × (1 − fee) − energy × price of power. It is no promise: a GPU earns only while it is leased, prices change, and stake is at risk.'), form);
}
