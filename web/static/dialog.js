// Asks before something is done that costs or cannot be taken back.
import { el } from './dom.js';

// opened shows a dialog, which closes by Escape or by end. What it comes to is what end is called with; nothing by Escape.
export function opened(attrs, make) {
  return new Promise((resolve) => {
    const d = el('dialog', attrs);
    const end = (answer) => {
      d.close();
      d.remove();
      resolve(answer);
    };
    d.append(...make(end));
    d.addEventListener('cancel', (e) => {
      e.preventDefault();
      end();
    });
    document.body.append(d);
    d.showModal();
    d.querySelector('[data-first]')?.focus();
  });
}

// confirmed asks and says whether the answer is yes. No is what Escape answers, and what the focus is on.
export const confirmed = async ({ title, body, yes, no = 'Cancel', danger = false }) => Boolean(await opened({ 'aria-labelledby': 'dialog-title' }, (end) => [
  el('h2', { id: 'dialog-title' }, title), body, el('div', { class: 'buttons' },
    el('button', { type: 'button', class: danger ? 'btn stop' : 'btn act', on: { click: () => end(true) } }, yes),
    el('button', { type: 'button', class: 'btn', 'data-first': true, on: { click: () => end(false) } }, no))]));
