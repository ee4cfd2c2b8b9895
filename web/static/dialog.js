// Asks before something is done that costs or cannot be taken back.
import { el } from './dom.js';

// confirmed asks and says whether the answer is yes. No is what Escape answers, and what the focus is on.
export function confirmed({ title, body, yes, no = 'Go back', danger = false }) {
  return new Promise((resolve) => {
    const d = el('dialog', { 'aria-labelledby': 'dialog-title' });
    const end = (answer) => () => {
      d.close();
      d.remove();
      resolve(answer);
    };
    const refuse = el('button', { type: 'button', on: { click: end(false) } }, no);
    d.append(el('h2', { id: 'dialog-title' }, title), body, el('div', { class: 'buttons' },
      el('button', { type: 'button', class: danger ? 'danger' : 'act', on: { click: end(true) } }, yes), refuse));
    d.addEventListener('cancel', (e) => {
      e.preventDefault();
      end(false)();
    });
    document.body.append(d);
    d.showModal();
    refuse.focus();
  });
}
