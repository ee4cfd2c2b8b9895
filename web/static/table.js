// Tables of rows of cells.
import { el } from './dom.js';

// table has a name, which a screen reader reads for the part that scrolls, and a caption; a head that ends with # is of
// numbers, one that ends with * of texts that may be long. Cells are what el takes.
export function table(name, caption, heads, rows) {
  const kind = heads.map((h) => ({ '#': 'n', '*': 'text' })[h.at(-1)]);
  return el('div', { class: 'card scroll', tabindex: 0, role: 'region', 'aria-label': name }, el('table', { class: 'tbl' }, el('caption', {}, caption),
    el('thead', {}, el('tr', {}, heads.map((h, i) => el('th', { scope: 'col', class: kind[i] }, h.replace(/ ?[#*]$/, ''))))),
    el('tbody', {}, rows.map((r) => el('tr', {}, r.map((c, i) => el(i === 0 ? 'th' : 'td', { scope: i === 0 && 'row', class: kind[i] }, c)))))));
}
