// The settings of Deploy: three fields, and the rest behind "Advanced".
import { choice, el, field, fill, svg } from '../dom.js';
import { seg } from '../parts.js';
import { dollars, plural } from '../show.js';
import { step } from './choose.js';
import { more } from './more.js';
import { control, fieldOf, firstOf, parameters } from './parameters.js';
import { has } from './request.js';

const text = (name, attrs) => el('input', { name, autocomplete: 'off', spellcheck: 'false', maxlength: 512, ...attrs });

function ticked(name, on) {
  const box = el('input', { name, type: 'checkbox' });
  box.checked = on;
  return box;
}

// asks shows what machines that fit ask, and where the price is that is offered.
export function asks(offers, price) {
  const all = offers.map((o) => Number(o.pricePerGpuHour));
  if (all.length === 0) return el('p', { class: 'help' }, 'No machine fits now.');
  const [least, most] = [Math.min(...all), Math.max(...all, price)];
  const at = (p) => (most === least ? 130 : 4 + ((p - least) / (most - least)) * 260);
  const fit = all.filter((p) => p <= price).length;
  return el('div', { class: 'help' }, svg('svg', { class: 'full', viewBox: '0 0 268 20', role: 'img', 'aria-label': `${fit} of ${plural(all.length, 'machine')} ask at most ${dollars(price.toFixed(6))}` },
    all.slice(0, 60).map((p) => svg('rect', { class: p <= price ? 'f-text' : 'f-none', x: at(p).toFixed(1), y: 4, width: 2.5, height: 12, rx: 1 })), svg('path', { class: 'k-text', 'stroke-width': 1.5, d: `M${at(price).toFixed(1)} 0v20` })),
  el('div', { class: 'row between tiny t3' }, el('span', {}, `best ${dollars(least.toFixed(6))}`), el('span', {}, `${fit} of ${all.length} machines`)));
}

// runFor is how long: four usual times, or one's own.
function runFor(minutes) {
  const time = text('time', { inputmode: 'decimal', required: true, value: minutes % 60 ? minutes : minutes / 60, maxlength: 12 });
  const unit = choice('unit', [['60', 'minutes'], ['3600', 'hours'], ['86400', 'days']], minutes % 60 ? '60' : '3600');
  unit.setAttribute('aria-label', 'Unit of the time');
  const set = (hours) => {
    [time.value, unit.value] = [hours, '3600'];
    time.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const usual = el('span');
  const draw = () => fill(usual, seg('Usual times', ['1', '4', '12', '24'].map((h) => [h, `${h} h`]), unit.value === '3600' ? time.value.trim() : null, set));
  time.addEventListener('input', draw);
  unit.addEventListener('change', draw);
  draw();
  return field('Run for', time, 'Stop or extend at any time.', el('div', { class: 'row wrap' }, unit, usual));
}

const advanced = (t, { local, wantsSimulated, rest }) => el('details', { class: 'more' }, el('summary', {}, 'Advanced', el('span', { class: 't3 small clip' }, t ? 'image, volume, network, region, budget, inspection' : 'environment, volume, network, region, minimum speed, budget, inspection and more')),
  el('div', { class: 'body more-fields' },
    t && parameters(t, firstOf(t)),
    t && field('Image', text('image'), 'Empty: the template’s.'),
    field('Region begins with', text('region', { maxlength: 16 }), 'Empty: anywhere.'),
    field('Volume', text('volume', { maxlength: 256, placeholder: t?.volume ?? 'data:50GiB:/data' }), `NAME:SIZE:PATH, an encrypted disk for the container. Empty: ${t?.volume ? 'the template’s' : 'none'}.`),
    field('Keep the volume', ticked('keep', false), 'In the server’s bucket: the next lease with a volume of this name begins with its files, and needs no size.'),
    field('Network', choice('network', [['internet', t && t.network === 'none' ? 'the template’s: none' : 'internet'], ['none', 'none']])),
    !t && [
      field('Measured TOPS, at least', text('tops', { inputmode: 'decimal', maxlength: 12 }), 'Int8 operations of each GPU, as keepers have measured them. Empty: any.'),
      field('Measured GB/s, at least', text('bandwidth', { inputmode: 'decimal', maxlength: 12 }), 'Of each GPU’s memory. Empty: any.'),
      field('Measured Mbit/s down, at least', el('input', { name: 'down', type: 'number', min: 1 }), 'To the machine. Empty: any.'),
      field('Entry point', text('entrypoint', { maxlength: 4096 }), 'A program in place of the image’s entry point and command. Empty: the image’s.'),
      field('User', text('user', { maxlength: 256 }), 'A name of the image’s or a number, such as root or 1000:1000. Empty: the image’s.'),
      field('Environment', el('textarea', { name: 'env', rows: 3, spellcheck: 'false', autocomplete: 'off' }), 'A line for each: NAME=VALUE. The machine’s provider could read it.'),
    ],
    field('Budget, USDC', text('budget', { inputmode: 'decimal', maxlength: 24 }), 'The most that order and extensions may cost. Empty: what is free in the credits and left of the session key’s cap.'),
    field('Inspect the machine', choice('inspect', [['', 'no'], ['auto', 'one lease in eight'], ['always', 'yes']]), 'Measures the machine once at a random second of the lease, while the job runs. The job is slower for a few seconds. If the machine does not pass, the lease is ended.'),
    field('Extend until it is stopped', ticked('until', false), 'The server pays for as much time again shortly before the end, up to the budget.'),
    field('Move when the machine fails', ticked('migrate', false), 'Another machine begins the job anew for the time that is left, at no higher price.'),
    !t && field('The lease ends with the job', ticked('completion', true), 'Else the machine is kept until the time is over or the lease is stopped.'),
    field('Simulated GPUs too', ticked('simulated', wantsSimulated), 'For local networks: such a machine has no GPU.'),
    !t && rest.part));

// settings are the fields of a template, or of an image of one's own.
export function settings({ template: t, local, minutes, price, wantsSimulated, signal }) {
  const rest = more(has, signal);
  const first = t && firstOf(t);
  const prices = el('div');
  const input = text('price', { required: true, inputmode: 'decimal', value: price, maxlength: 24 });
  const part = step('3', 'settings', 'Settings', null, el('div', { class: 'card' }, el('div', { class: 'body fields' },
    first ? fieldOf(first, control(first, t.parameters[first]), t.parameters[first]) : !t && el('div', { class: 'stack-12' },
      field('Image', text('image'), local ? 'A container image. Without one, machines of a local network run a command as it is.' : 'A container image, such as python:3.13-slim.'),
      field('Command', text('command', { maxlength: 4096 }), 'Split at spaces; quotes hold a part together. Empty: the image’s own.')),
    runFor(minutes), field('Max price per GPU-hour', input, 'The best machine at or below it, at the price that it asks.', prices)),
  !t && el('div', { class: 'opt' }, field('Measure the GPU before it is paid', ticked('verify', true), 'While the image is fetched, where it has enough time. A machine below its class is sent back and costs nothing. Simulated GPUs are not measured.')),
  advanced(t, { local, wantsSimulated, rest })));
  return { part, rest, price: input, draw: (offers) => prices.replaceChildren(asks(offers, Number(input.value) || 0)) };
}
