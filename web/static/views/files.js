// The files of a lease's container: a folder at a time, a file to this computer, or one of this computer into the folder.
import { ask, content, get } from '../api.js';
import { el, field, fill, save, say } from '../dom.js';
import { bytes, problem, when } from '../show.js';

const join = (folder, name) => `${folder.replace(/\/$/, '')}/${name}`;

// files shows the container's files once a folder is opened.
export function files(lease, signal) {
  const at = `/v1/leases/${encodeURIComponent(lease)}`;
  const of = (what, path) => `${at}/${what}?${new URLSearchParams({ path })}`;
  const folder = el('input', { name: 'folder', value: '.', autocomplete: 'off', spellcheck: 'false', maxlength: 1024, required: true });
  const list = el('div');
  const failure = el('div');
  let here = '';
  let busy = false;
  // task does one thing at a time, and says what went wrong.
  const task = async (f) => {
    if (busy) return;
    busy = true;
    failure.replaceChildren();
    try {
      await f();
    } catch (err) {
      if (!signal.aborted) failure.replaceChildren(problem(err));
    }
    busy = false;
  };
  const show = async (path) => {
    const found = await get(of('files', path), signal);
    here = folder.value = found.path;
    draw(found);
    say(`${found.path}: ${found.entries.length} entries`);
  };
  const open = (path) => task(() => show(path));
  const load = (name) => task(async () => {
    save(await content(of('file', join(here, name)), signal), name);
    say(`${name} is saved`);
  });
  const button = (name, f) => el('button', { type: 'button', class: 'link', 'data-key': `file-${name}`, on: { click: f } }, name);
  const row = (e) => el('tr', {}, el('td', {}, e.kind === 'folder' ? button(`${e.name}/`, () => open(join(here, e.name))) : e.kind === 'file' ? button(e.name, () => load(e.name)) : e.name),
    el('td', { class: 'n' }, e.kind === 'file' ? bytes(e.bytes) : ''), el('td', {}, when(e.modified)));
  const chosen = el('input', { type: 'file', name: 'file' });
  chosen.addEventListener('change', () => {
    const [file] = chosen.files;
    if (!file) return;
    chosen.value = ''; // so that the same file can be chosen again
    task(async () => {
      await ask('PUT', of('file', join(here, file.name)), { body: file, signal });
      await show(here);
      say(`${file.name} is in the container`);
    });
  });
  const upload = field('Put a file here', chosen, 'It replaces one with the same name. At most 16 MiB; gantry cp copies larger files, and folders.');
  const draw = (found) => fill(list, el('table', { class: 'tbl' }, el('caption', { class: 'unseen' }, `Files in ${found.path}`),
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'Name'), el('th', { scope: 'col', class: 'n' }, 'Size'), el('th', { scope: 'col' }, 'Changed'))),
    el('tbody', {}, found.path !== '/' && el('tr', {}, el('td', { colspan: 3 }, button('..', () => open(join(here, '..'))))), found.entries.map(row))),
  found.more > 0 && el('p', { class: 't3 small' }, `${found.more} more are not listed.`), upload);
  const form = el('form', { class: 'row', on: { submit: (e) => {
    e.preventDefault();
    open(folder.value);
  } } }, field('Folder', folder), el('div', {}, el('button', { class: 'btn' }, 'Open')));
  return el('div', {}, form, failure, list);
}
