// Fields of an order for which the form has no control of its own, from the API's document. A field that the API learns is on
// the page without a change here.
import { get } from '../api.js';
import { choice, el, field, fill } from '../dom.js';
import { problem } from '../show.js';

// acronyms keep their capitals.
const acronyms = new Set(['gpu', 'gpus', 'cpu', 'cuda', 'ssh', 'url']);

// title is a field's name in words: minMemoryGiB is "Min memory GiB".
export function title(name) {
  const words = name.match(/[GM]iB|[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+/g) ?? [name];
  const text = words.map((w) => (/^[GM]iB$/.test(w) ? w : acronyms.has(w.toLowerCase()) ? w.toUpperCase() : w.toLowerCase())).join(' ');
  return text[0].toUpperCase() + text.slice(1);
}

const lines = (text) => text.split('\n').map((l) => l.trim()).filter(Boolean);

// port reads NAME:PORT.
function port(line) {
  const [, name, number] = /^([^:]+):(\d+)$/.exec(line) ?? [];
  if (!name) throw new Error(`not NAME:PORT: ${line}`);
  return { name, port: Number(number) };
}

// kinds are what a field may be: its control, the note that goes with it, and its value; undefined where it is as it was.
const kinds = [
  { is: (p) => p.type === 'boolean', control: (name) => el('input', { name, type: 'checkbox' }), value: (e) => e.checked || undefined },
  {
    is: (p) => p.enum, control: (name, p) => choice(name, [['', 'as usual'], ...p.enum.map((x) => [x, x])]), value: (e) => e.value || undefined,
  },
  {
    is: (p) => p.type === 'integer', control: (name, p) => el('input', { name, type: 'number', min: p.minimum, max: p.maximum, step: 1 }),
    value: (e) => (e.value === '' ? undefined : Number(e.value)),
  },
  {
    is: (p) => p.type === 'string' && p.maxLength > 4096, control: (name, p) => el('textarea', { name, rows: 4, maxlength: p.maxLength, spellcheck: 'false', autocomplete: 'off' }),
    value: (e) => e.value.trim() || undefined,
  },
  {
    is: (p) => p.format === 'password', control: (name, p) => el('input', { name, type: 'password', maxlength: p.maxLength, autocomplete: 'off' }),
    value: (e) => e.value || undefined,
  },
  {
    is: (p) => p.type === 'string', control: (name, p) => el('input', { name, maxlength: p.maxLength, autocomplete: 'off', spellcheck: 'false', placeholder: p.examples?.[0] }),
    value: (e) => e.value.trim() || undefined,
  },
  {
    is: (p) => p.type === 'array' && p.items.type === 'string', note: 'a line for each', control: (name) => el('textarea', { name, rows: 2, spellcheck: 'false', autocomplete: 'off' }),
    value: (e) => (lines(e.value).length ? lines(e.value) : undefined),
  },
  {
    is: (p) => p.type === 'array' && p.items.$ref?.endsWith('/Port'), note: 'a line for each, NAME:PORT', control: (name) => el('textarea', { name, rows: 2, spellcheck: 'false', autocomplete: 'off' }),
    value: (e) => (lines(e.value).length ? lines(e.value).map(port) : undefined),
  },
];

// beside are fields that stand behind another one, of which they need a value.
const beside = { guest: 'attest' };

// placed is where a field stands: by its name, behind the one that it needs.
const placed = (name) => (beside[name] ? `${beside[name]} ${name}` : name);

// fieldsOf are the fields of an order besides those that a form has, each with its kind.
export const fieldsOf = (doc, has) => Object.entries(doc.components.schemas.OrderRequest.properties).filter(([name]) => !has.has(name)).sort(([a], [b]) => (placed(a) < placed(b) ? -1 : 1)).map(([name, p]) => {
  const kind = kinds.find((k) => k.is(p));
  if (!kind) throw new Error(`the page cannot ask for ${name}`);
  return { name, kind, note: [p.description, kind.note].filter(Boolean).join('; '), control: kind.control(`more.${name}`, p) };
});

// more is a part of a form that is filled when it is opened. values are what was entered.
export function more(has, signal) {
  let fields = [];
  const body = el('div', { class: 'more-fields' });
  const load = async () => {
    if (fields.length) return;
    try {
      fields = fieldsOf(await get('/openapi.json', signal), has);
      fill(body, fields.map((f) => field(title(f.name), f.control, f.note)));
    } catch (err) {
      if (!signal.aborted) fill(body, problem(err));
    }
  };
  const part = el('details', { class: 'wide-f', on: { toggle: load } }, el('summary', {}, 'More terms and limits'), body);
  return { part, values: () => Object.fromEntries(fields.map((f) => [f.name, f.kind.value(f.control)]).filter(([, v]) => v !== undefined)) };
}
