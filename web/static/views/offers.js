// The table of machines for rent.
import { el } from '../dom.js';
import { measured, pips } from '../figures.js';
import { claim, marks } from '../parts.js';
import { dollars, line, memory, money, nb, plural, three, uptime } from '../show.js';
import { simulated } from '../dom.js';
import { dayStrip, ofChecks, since } from './byday.js';

const links = { nvlink: 'NVLink', nvswitch: 'NVSwitch' };

// perDollar is what was measured for a dollar an hour.
export const perDollar = (o) => (Number(o.measured?.tops) > 0 && Number(o.pricePerGpuHour) > 0 ? Number(o.measured.tops) / Number(o.pricePerGpuHour) : null);

export const machineLink = (o, key, ...what) => el('a', { class: 'main', href: `#/machine/${encodeURIComponent(o.address)}`, 'data-key': `${key}-${o.address}` }, what);

const gpu = (o) => [
  el('div', { class: 'row tight wrap' }, machineLink(o, 'machine', `${o.gpus} × ${o.model}`), marks(o), o.simulated && simulated()),
  el('div', { class: 'sub' }, memory(o.vramMib), links[o.interconnect] && ` · ${links[o.interconnect]}`, ' · ', claim(`${o.cpuCores}${nb}vCPU, ${memory(o.ramMib)}`)),
];

const price = (o) => {
  const per = perDollar(o);
  return [el('div', {}, el('span', { class: 'main' }, money(o.pricePerGpuHour)), el('span', { class: 't3 tiny' }, `${nb}/h`)), el('div', { class: 'sub nowrap' }, per === null ? '–' : `${three(per)} TOPS per $`)];
};

// reliability has the checks by day, where they are known, in place of their sum.
function reliability(o) {
  const days = dayStrip(o.address, 30, 148);
  const checks = o.checksTotal > 0 ? ofChecks(o.checksPassed, o.checksTotal) : 'no check yet';
  return el('div', { class: 'rel', title: days && `${checks} in all; ${since(o.address, 30)}` }, days,
    el('div', { class: 'row between base' }, el('span', { class: 'main' }, o.checksTotal > 0 ? uptime(o.uptimePercent) : '–'), el('span', { class: 't3 tiny' }, plural(o.jobsCompleted, 'lease'))),
    !days && el('div', { class: 'sub nowrap' }, checks));
}

const network = (o) => (o.measured?.downMbps ? line(o.measured.downMbps, o.measured.upMbps) : claim(line(o.claimed.downMbps, o.claimed.upMbps)));

const where = (o) => [el('div', { class: 'nowrap' }, claim(o.region || 'not said', o.site && `, ${o.site}`)), el('div', { class: 'sub nowrap' }, network(o))];

const columns = [
  ['GPU', 'c-gpu', gpu], ['Price per GPU', 'c-price n', price], ['Free', 'c-free', (o) => pips(o.freeGpus, o.gpus, 'free')], ['Measured', 'c-meas', (o) => measured(o)],
  ['Reliability', 'c-rel', reliability], ['Region, network', 'c-where', where],
];

// rent leads to the form that rents such a machine.
const rent = (o, first) => o.freeGpus > 0 && el('a', {
  class: `btn sm ${first ? 'act' : ''}`.trim(), href: `#/deploy?${new URLSearchParams({ gpu: o.model, price: o.pricePerGpuHour, simulated: o.simulated ? '1' : '' })}`, 'data-key': `rent-${o.address}`,
  'aria-label': `Rent ${o.gpus} × ${o.model} at ${dollars(o.pricePerGpuHour)} an hour`,
}, 'Rent');

// offersTable shows offers; canRent is false where this server buys for nobody.
export const offersTable = (offers, caption, canRent) => el('table', { class: 'tbl offers' }, el('caption', { class: 'unseen' }, caption),
  el('thead', {}, el('tr', {}, columns.map(([name, cls]) => el('th', { scope: 'col', class: cls }, name)), el('th', { scope: 'col', class: 'c-do' }, el('span', { class: 'unseen' }, 'Rent')))),
  el('tbody', {}, offers.map((o, i) => el('tr', { 'data-machine': o.address }, columns.map(([, cls, cell]) => el('td', { class: cls }, cell(o))), el('td', { class: 'c-do n' }, canRent && rent(o, i === 0))))));
