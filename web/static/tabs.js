// Tabs: one panel is shown, the others go on.
import { el } from './dom.js';

let made = 0;

// tabs are [name, panel] pairs; what opens later is shown by open.
export function tabs(label, all) {
  const id = ++made;
  const buttons = all.map(([name], i) => el('button', { type: 'button', role: 'tab', id: `tab-${id}-${i}`, 'aria-controls': `panel-${id}-${i}`, 'data-key': `tab-${name}`, on: { click: () => show(i) } }, name));
  const panels = all.map(([, panel], i) => el('div', { role: 'tabpanel', id: `panel-${id}-${i}`, 'aria-labelledby': `tab-${id}-${i}` }, panel));
  const show = (on) => {
    buttons.forEach((b, i) => {
      b.setAttribute('aria-selected', String(i === on));
      b.tabIndex = i === on ? 0 : -1;
      panels[i].hidden = i !== on;
    });
  };
  const list = el('div', { class: 'tabs', role: 'tablist', 'aria-label': label, on: { keydown: (e) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!by) return;
    const next = (buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length;
    show(next);
    buttons[next].focus();
  } } }, buttons);
  show(0);
  return el('section', { class: 'card', 'aria-label': label }, list, panels);
}
