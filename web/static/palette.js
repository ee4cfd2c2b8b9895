// Finds views, leases and addresses by a few letters, and what can be done there.
import { get, signedIn } from './api.js';
import { opened } from './dialog.js';
import { el, fill, icon } from './dom.js';
import { roles } from './frame.js';
import { isAddress } from './parts.js';
import { short } from './show.js';
import { calledText } from './views/rename.js';

const keys = [['/', 'search the market'], ['Ctrl K', 'this list'], ['g then m, d, l or a', 'market, deploy, leases, audit'], ['d', 'deploy'], ['?', 'these keys'], ['Esc', 'close']];

// help lists the keys.
export const help = () => opened({ 'aria-labelledby': 'dialog-title' }, (end) => [el('h2', { id: 'dialog-title' }, 'Keys'),
  el('dl', { class: 'kv' }, keys.map(([k, what]) => [el('dt', {}, el('kbd', {}, k)), el('dd', {}, what)])),
  el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'btn', 'data-first': true, on: { click: () => end() } }, 'Close'))]);

const enc = encodeURIComponent;

// looked are the views of an address that is typed.
const looked = (text) => (isAddress(text) ? [['Audit this lease', `#/audit/${enc(text)}`, 'seal'], ['Show this machine', `#/machine/${enc(text)}`, 'server'], ['Machines of this wallet', `#/machines/${enc(text)}`, 'wallet'], ['Slashes of this address', `#/slash/${enc(text)}`, 'warn']]
  .map(([name, href, symbol]) => ({ group: short(text), name, href, symbol })) : []);

// all are the entries that there are for the visitor.
async function all(about) {
  const views = roles.flatMap((r) => r.views.filter(([, , , own]) => !own || !about.public).map(([view, name, symbol]) => ({ group: 'Go to', name, more: r.name, href: `#/${view}`, symbol })));
  if (!signedIn() || about.public) return views;
  views.push({ group: 'Go to', name: 'Wallet', more: 'Account', href: '#/wallet', symbol: 'wallet' }, { group: 'Go to', name: 'Add credits', more: 'Account', href: '#/credits', symbol: 'plus' });
  const [{ leases }, { templates }] = await Promise.all([get('/v1/leases'), get('/v1/templates')]);
  return [
    ...leases.slice(0, 20).map((l) => ({ group: 'Leases', name: `${calledText(l)} ${short(l.address)}`, more: l.status, href: `#/lease/${enc(l.address)}`, symbol: 'pulse' })),
    ...views, ...templates.map((t) => ({ group: 'Deploy', name: `Deploy ${t.title}`, href: `#/deploy?template=${enc(t.name)}`, symbol: 'rocket' })),
  ];
}

// open shows the palette.
export function open(about) {
  return opened({ class: 'palette', 'aria-label': 'Jump to' }, (end) => {
    let entries = [];
    let shown = [];
    let on = 0;
    const list = el('ul', { role: 'listbox', id: 'palette-list', 'aria-label': 'Results' });
    const input = el('input', { 'data-first': true, role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'palette-list', 'aria-label': 'A view, a lease or an address', placeholder: 'A view, a lease or an address', autocomplete: 'off', spellcheck: 'false', maxlength: 100 });
    const go = (entry) => {
      if (!entry) return;
      end();
      location.hash = entry.href;
    };
    const draw = () => {
      const text = input.value.trim();
      const words = text.toLowerCase().split(/\s+/);
      shown = [...looked(text), ...entries.filter((e) => words.every((w) => `${e.name} ${e.more ?? ''}`.toLowerCase().includes(w)))].slice(0, 12);
      on = Math.max(0, Math.min(on, shown.length - 1));
      input.setAttribute('aria-activedescendant', shown.length ? `palette-${on}` : '');
      fill(list, shown.length === 0 ? el('li', { role: 'option', 'aria-selected': 'false', class: 't3' }, 'Nothing like it')
        : shown.map((e, i) => el('li', { id: `palette-${i}`, role: 'option', 'aria-selected': String(i === on), class: i === on && 'on', on: { click: () => go(e) } }, icon(e.symbol), el('span', {}, e.name), el('span', { class: 't3 end tiny' }, e.more ?? e.group))));
    };
    input.addEventListener('input', () => {
      on = 0;
      draw();
    });
    input.addEventListener('keydown', (e) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[e.key];
      if (by) on = (on + by + shown.length) % (shown.length || 1);
      else if (e.key === 'Enter') return go(shown[on]);
      else return;
      e.preventDefault();
      draw();
    });
    all(about).then((found) => {
      entries = found;
      draw();
    }, () => draw());
    draw();
    return [el('div', { class: 'q' }, icon('search'), input, el('kbd', {}, 'esc')), list];
  });
}
