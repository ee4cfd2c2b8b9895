// The form that looks an address up.
import { el, field } from '../dom.js';

// lookup leads to a view of the address that is given; more is shown behind its button.
export function lookup({ view, name, value, label, note, verb }, more) {
  const address = el('input', { name, required: true, value, autocomplete: 'off', spellcheck: 'false', maxlength: 44 });
  const submit = (e) => {
    e.preventDefault();
    location.hash = `#/${view}/${encodeURIComponent(address.value.trim())}`;
  };
  return el('form', { class: 'row lookup', on: { submit } }, field(label, address, note), el('button', { class: 'btn' }, verb), more);
}
