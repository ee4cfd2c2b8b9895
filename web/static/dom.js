// Makes every element of the page. Texts become text nodes, whatever is in them: much of what is shown was written on the
// chain by strangers.

const attributes = new Set([
  'accept', 'autocomplete', 'class', 'colspan', 'datetime', 'disabled', 'download', 'for', 'href', 'id', 'inputmode', 'list', 'max', 'maxlength', 'min', 'name', 'open',
  'pattern', 'placeholder', 'required', 'role', 'rows', 'scope', 'spellcheck', 'step', 'tabindex', 'title', 'type', 'value',
]);

const drawn = new Set([
  'class', 'cx', 'cy', 'd', 'fill', 'height', 'href', 'opacity', 'preserveAspectRatio', 'r', 'role', 'rx', 'stroke-dasharray', 'stroke-width', 'tabindex', 'text-anchor', 'viewBox',
  'width', 'x', 'y',
]);

// fit sets the attributes that a list allows. Those that are null or false are left out; on is an object of listeners.
function fit(e, attrs, allowed) {
  for (const [name, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'on') {
      for (const [event, f] of Object.entries(value)) e.addEventListener(event, f);
      continue;
    }
    if (!allowed.has(name) && !name.startsWith('aria-') && !name.startsWith('data-')) throw new Error(`attribute ${name}`);
    e.setAttribute(name, value === true ? '' : String(value));
  }
  return e;
}

// el makes an element; links lead to views.
export function el(tag, attrs = {}, ...children) {
  if (attrs.href !== undefined && !String(attrs.href).startsWith('#/')) throw new Error(`link to ${attrs.href}`);
  const e = fit(document.createElement(tag), attrs, attributes);
  e.append(...nodes(children));
  return e;
}

// svg makes a part of a drawing: geometry in attributes, colours in classes, and links to the symbols of the document alone.
export function svg(tag, attrs = {}, ...children) {
  if (attrs.href !== undefined && !String(attrs.href).startsWith('#i-')) throw new Error(`link to ${attrs.href}`);
  if (attrs.fill && !/^(none|url\(#hatch(-p)?\))$/.test(attrs.fill)) throw new Error(`fill ${attrs.fill}`);
  const e = fit(document.createElementNS('http://www.w3.org/2000/svg', tag), attrs, drawn);
  e.append(...nodes(children));
  return e;
}

// icon is a symbol of the document.
export const icon = (name, size = '') => svg('svg', { class: `i ${size}`.trim(), 'aria-hidden': 'true' }, svg('use', { href: `#i-${name}` }));

// outside is a link that leaves the page: to a port that is forwarded to this machine, or to a name with TLS. What is neither
// is shown as text.
export function outside(url, ...children) {
  const at = URL.canParse(url) ? new URL(url) : null;
  const forwarded = at?.protocol === 'http:' && at.hostname === '127.0.0.1';
  if (!forwarded && at?.protocol !== 'https:') return el('code', {}, url);
  const a = el('a', { class: 'link' }, ...children);
  a.href = at.href;
  a.target = '_blank';
  a.rel = 'noopener noreferrer';
  return a;
}

// save has the browser keep a file under a name.
export function save(blob, name) {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
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
  return el('dl', { class: 'kv' }, pairs.filter(([, v]) => v !== undefined && v !== null && v !== false && v !== '').map(([k, v]) => [el('dt', {}, k), el('dd', {}, v)]));
}

let fields = 0;

// field is a form's control with its label, and a note that is read with it.
export function field(label, control, note, more) {
  const id = `f${++fields}`;
  control.id = id;
  if (note) control.setAttribute('aria-describedby', `${id}-note`);
  const tick = control.type === 'checkbox';
  const name = el('label', { for: id }, label);
  const text = note && el('span', { class: 'help', id: `${id}-note` }, note);
  return el('div', { class: tick ? 'field tick' : 'field' }, tick ? [control, name, text && el('span')] : [name, control, more], text);
}

// choice is a select of [value, text] pairs.
export function choice(name, options, chosen) {
  const s = el('select', { name }, options.map(([value, text]) => el('option', { value }, text)));
  if (chosen !== undefined) s.value = chosen;
  return s;
}

export const code = (text) => text && el('code', {}, text);

export const simulated = () => el('span', { class: 'tag warn simulated' }, 'Simulated');

// painted ends when what was drawn can be seen, or at once where the page cannot.
export const painted = () => new Promise((done) => (document.hidden ? done() : requestAnimationFrame(() => setTimeout(done))));

// say has a screen reader read a text.
export function say(text) {
  document.getElementById('said').textContent = text;
}
