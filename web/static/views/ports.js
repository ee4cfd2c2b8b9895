// The ports of a lease's container: those that the order has declared, as links once they lead to this machine.
import { ask, get } from '../api.js';
import { el, field, fill, outside } from '../dom.js';
import { problem } from '../show.js';

// here says whether the page comes from the machine to which ports are forwarded.
export const here = ['127.0.0.1', 'localhost', '[::1]'].includes(location.hostname);

// ports shows them while the lease runs.
export function ports(lease, signal) {
  const path = `/v1/leases/${encodeURIComponent(lease)}/forwards`;
  const list = el('ul', { class: 'ports' });
  const failure = el('div');
  const number = el('input', { name: 'port', type: 'number', min: 1, max: 65535, required: true, placeholder: '8080' });
  let busy = false;
  const open = async (port) => {
    if (busy) return;
    busy = true;
    failure.replaceChildren();
    try {
      await ask('POST', path, { body: { port }, signal });
      await load();
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err));
    }
    busy = false;
  };
  const row = (p) => el('li', {}, el('strong', {}, p.name ? `${p.name} ` : 'port '), `${p.port} `,
    p.public && outside(p.public, p.public), ' ',
    p.url && (here ? outside(p.url, p.url) : el('span', {}, el('code', {}, p.url), ' on the server’s machine')),
    !p.url && el('button', { type: 'button', class: 'btn sm', 'data-key': `port-${p.port}`, on: { click: () => open(p.port) } }, here ? 'Open here' : 'Open on the server’s machine'));
  const load = async () => {
    const { ports: all } = await get(path, signal);
    fill(list, all.length === 0 ? el('li', { class: 't3 small' }, 'The order has declared none.') : all.map(row));
  };
  const form = el('form', { class: 'row', on: {
    submit: (e) => {
      e.preventDefault();
      open(Number(number.value));
    },
  } }, field('Another port', number), el('div', {}, el('button', { class: 'btn' }, 'Open')));
  load().catch((err) => !signal.aborted && failure.replaceChildren(problem(err)));
  return el('div', {}, list, failure, form,
    el('p', { class: 't3 small' }, 'A port that is open leads every program of this machine into the container, until the lease or the server ends. A public address comes from ', el('code', {}, 'gantry gateway open'), '.'));
}
