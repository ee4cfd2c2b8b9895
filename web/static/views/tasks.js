// What an owner has to do about machines.
import { el, icon } from '../dom.js';
import { card } from '../parts.js';

// worst first: what keeps a machine from earning comes before the rest.
const weigh = (m) => (m.status === 'suspended' ? 0 : m.status === 'active' ? 2 : 1);

// tasks lists them, each with its machine where there are several; nothing where there are none.
export function tasks(machines, named = machines.length > 1) {
  const all = [...machines].sort((a, b) => weigh(a) - weigh(b)).flatMap((m) => m.toDo.map((t) => ({ ...t, m })));
  return all.length > 0 && card({ name: 'Needs you', count: all.length }, el('ul', { class: 'todo' }, all.map(({ what, do: act, m }) => el('li', {}, el('span', { class: m.status === 'suspended' ? 'bad' : 'warn' }, icon('warn')),
    el('div', {}, named && el('div', { class: 'medium' }, `${m.gpus} × ${m.model}`), el('p', {}, what), el('p', { class: 'txt' }, 'Do: ', act)),
    named && el('a', { class: 'btn sm', href: `#/machine/${encodeURIComponent(m.address)}` }, 'Details')))));
}
