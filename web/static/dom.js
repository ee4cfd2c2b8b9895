// Makes every element of the page. Texts become text nodes, whatever is in them: much of what is shown was written on the
// chain by strangers.

const attributes = new Set([
  'accept', 'autocomplete', 'class', 'colspan', 'for', 'href', 'id', 'inputmode', 'max', 'maxlength', 'min', 'name', 'open', 'pattern', 'placeholder',
  'required', 'role', 'rows', 'scope', 'spellcheck', 'step', 'tabindex', 'title', 'type', 'value',
]);

// el makes an element. Attributes that are null or false are left out; on is an object of listeners; links lead to views.
export function el(tag, attrs = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [event, f] of Object.entries(value)) e.addEventListener(event, f);
      continue;
    }
    if (!attributes.has(name) && !name.startsWith('aria-') && !name.startsWith('data-')) throw new Error(`attribute ${name}`);
    if (name === 'href' && !String(value).startsWith('#/')) throw new Error(`link to ${value}`);
    e.setAttribute(name, value === true ? '' : String(value));
  }
  e.append(...nodes(children));
  return e;
}

// outside is a link that leaves the page: to a port that is forwarded to this machine, or to a gateway's name. What is neither
// is shown as text.
export function outside(url, ...children) {
  const at = URL.canParse(url) ? new URL(url) : null;
  const forwarded = at?.protocol === 'http:' && at.hostname === '127.0.0.1';
  if (!forwarded && at?.protocol !== 'https:') return el('code', {}, url);
  const a = el('a', {}, ...children);
  a.href = at.href;
  a.target = '_blank';
  a.rel = 'noopener noreferrer';
  return a;
}

// nodes are children that append takes: nodes as they are, the rest as text.
function nodes(children) {
  return children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false).map((c) => (c instanceof Node ? c : String(c)));
}

// fill replaces what is in an element. The focus stays on what has the same data-key.
export function fill(e, ...children) {
  const key = e.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  e.replaceChildren(...nodes(children));
  if (key) ([...e.querySelectorAll('[data-key]')].find((x) => x.dataset.key === key) ?? document.querySelector('h1'))?.focus();
}

// describe makes a list of names and values; those without a value are left out.
export function describe(...pairs) {
  return el('dl', {}, pairs.filter(([, v]) => v !== undefined && v !== null && v !== false && v !== '').map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));
}

// figure is a short name above a value.
export function figure(name, value) {
  return el('div', {}, el('span', { class: 'note' }, name), el('span', {}, value));
}

let fields = 0;

// field is a form's control with its label, and a note that is read with it.
export function field(label, control, note) {
  const id = `f${++fields}`;
  control.id = id;
  if (note) control.setAttribute('aria-describedby', `${id}-note`);
  const tick = control.type === 'checkbox';
  const name = el('label', { for: id }, label);
  const text = note && el('span', { class: 'note', id: `${id}-note` }, note);
  return el('div', { class: tick ? 'field tick' : 'field' }, tick ? [control, name, text && el('span')] : [name, control], text);
}

// choice is a select of [value, text] pairs.
export function choice(name, options, chosen) {
  const s = el('select', { name }, options.map(([value, text]) => el('option', { value }, text)));
  if (chosen !== undefined) s.value = chosen;
  return s;
}

export const code = (text) => text && el('code', {}, text);

export const simulated = () => el('span', { class: 'badge simulated' }, 'simulated');

// say has a screen reader read a text.
export function say(text) {
  document.getElementById('said').textContent = text;
}
