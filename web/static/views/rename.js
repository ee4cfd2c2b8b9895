// The name of a lease on this server: how it is shown, and how it is changed.
import { ask, get } from '../api.js';
import { opened } from '../dialog.js';
import { el, field, icon } from '../dom.js';
import { problem } from '../show.js';

// gpusText says how many GPUs a lease has, and which.
export const gpusText = (l) => `${l.gpus} × ${l.model ?? 'GPU'}`;

// calledText is what a lease is called in texts; what runs on it stands for leases of older servers.
export const calledText = (l) => l.name || gpusText(l);

// called is the same, apart from the direction of the text around it: people write it.
export const called = (l) => el('bdi', {}, calledText(l));

// known are the names of the customer's leases, read at most once in a while.
let known = new Map();
let until = 0;

// readNames reads them. Without them addresses are shown.
export async function readNames(signal) {
  if (Date.now() < until) return;
  until = Date.now() + 15_000;
  try {
    known = new Map((await get('/v1/leases', signal)).leases.map((l) => [l.address, l.name]));
  } catch {
    until = 0;
  }
}

export const nameOf = (address) => known.get(address);

// renameButton changes the name; done draws the view anew.
export function renameButton(l, done) {
  return el('button', { type: 'button', class: 'icon-btn', 'data-key': 'rename', 'aria-label': 'Rename this lease', title: 'Rename', on: { click: () => opened({ 'aria-labelledby': 'dialog-title' }, (end) => {
    const name = el('input', { name: 'name', maxlength: 64, autocomplete: 'off', spellcheck: 'false', value: l.name ?? '', 'data-first': true });
    const failure = el('div');
    const send = async (e) => {
      e.preventDefault();
      try {
        await ask('PUT', `/v1/leases/${encodeURIComponent(l.address)}/name`, { body: { name: name.value.trim() } });
      } catch (err) {
        failure.replaceChildren(problem(err, 'Not renamed'));
        return;
      }
      until = 0;
      end();
      await done(true);
    };
    return [el('h2', { id: 'dialog-title' }, 'Rename this lease'), el('form', { class: 'stack-12', on: { submit: send } },
      field('Name', name, 'For people of this server; gantry leases and MCP on its computer show it too. Empty: the name of its purchase, or what runs on it and four letters of its address.'), failure,
      el('div', { class: 'buttons' }, el('button', { class: 'btn act' }, 'Rename'), el('button', { type: 'button', class: 'btn', on: { click: () => end() } }, 'Cancel')))];
  }) } }, icon('edit', 's14'));
}
