// The parts that views are made of: cards, figures, tags, addresses, what can be copied, and what is said for a moment.
import { el, fill, icon, outside, say } from './dom.js';
import { short } from './show.js';

// card is a part of a view under a head; its name is a heading.
export function card({ name, level = 'h2', count, end, label }, ...body) {
  return el('section', { class: 'card', 'aria-label': label ?? (name ? null : 'Details') },
    name && el('div', { class: 'head' }, el(level, {}, name), count !== undefined && el('span', { class: 'count' }, count), end && el('span', { class: 'end row wide small t2' }, end)), body);
}

export const inCard = (head, ...body) => card(head, el('div', { class: 'body' }, body));

// stats is one row of cells: a name, a value, and what explains it.
export const stats = (label, ...cells) => el('section', { class: 'card stats', 'aria-label': label }, cells.filter(Boolean).map(([name, value, note]) =>
  el('div', { class: 'stat' }, el('span', { class: 't3 small' }, name), el('span', { class: 'v' }, value), note && el('span', { class: 'tiny t3' }, note))));

export const tag = (text, kind = '', symbol, title) => el('span', { class: `tag ${kind}`.trim(), title }, symbol && icon(symbol), text);

// states are the words of the program's states for people, and the colours of their dots.
const states = {
  awarded: ['Starting', 'warn'], running: ['Running', 'run'], ended: ['Ended', ''], failed: ['Failed', 'bad'], active: ['Healthy', 'run'], suspended: ['Suspended', 'bad'],
  retired: ['Retired', ''], paused: ['Paused', ''], buying: ['Buying', 'warn'], starting: ['Starting', 'warn'], partial: ['Partly running', 'warn'],
};

export function state(name, after) {
  const [word, kind] = Object.hasOwn(states, name) ? states[name] : [name, ''];
  return el('span', { class: `state ${kind} state-${String(name).replace(/\W/g, '')}` }, word, after);
}

// mark is a seal or a shield, with its meaning.
const mark = (symbol, word, title) => el('span', { class: 'mark', title }, icon(symbol), el('span', { class: 'unseen' }, word));

// marks are those of a machine.
export const marks = (o) => [
  o.verified && mark('seal', 'Verified', 'Verified: an age, an uptime and paid leases stand behind this machine'),
  o.tier === 3 && mark('shield', 'Attested', 'Attested: a confidential machine and each GPU vouch for it (tier 3)'),
];

export const claim = (...text) => el('span', { class: 'claim', title: 'Claimed by the provider, not measured' }, text);

// isAddress reports whether a text is an account or a transaction: what a stranger may have written is not looked up.
export const isAddress = (text) => /^[1-9A-HJ-NP-Za-km-z]{32,90}$/.test(text);

let explorer = '';

// lookAt sets the explorer's address, in which {path} stands for what is looked up.
export function lookAt(template) {
  explorer = template ?? '';
}

const copied = (button) => {
  const before = [...button.childNodes];
  button.replaceChildren(icon('check'));
  say('Copied');
  setTimeout(() => button.replaceChildren(...before), 1500);
};

function copyButton(text, name) {
  const b = el('button', { type: 'button', class: 'icon-btn', 'aria-label': `Copy ${name}`, title: `Copy ${name}`, on: { click: async () => {
    try {
      await navigator.clipboard.writeText(text);
      copied(b);
    } catch {
      say('The browser does not let this page copy');
    }
  } } }, icon('copy'));
  return b;
}

// address is one in short, or by a name, which can be copied and looked up. kind is address or tx; href leads to a view of it.
export function address(text, what, { kind = 'address', href, key, name } = {}) {
  const known = isAddress(text);
  const shown = name ? el('bdi', { title: text }, name) : el('code', { title: text }, known ? short(text) : text);
  const link = known && explorer.includes('{path}') && outside(explorer.replace('{path}', `${kind}/${text}`), icon('out'));
  if (link) {
    link.className = 'icon-btn';
    link.setAttribute('aria-label', `Open ${what} in Solana Explorer`);
  }
  return el('span', { class: 'addr' }, href && known ? el('a', { class: 'link', href, 'data-key': key }, shown) : shown, copyButton(text, what), link);
}

// copyField shows a text in one line, which can be copied whole.
export function copyField(text, name, link) {
  return el('div', { class: 'copy' }, el('code', { title: text }, text.replace(/^https?:\/\//, '')), copyButton(text, name), link);
}

// seg is a row of choices of which one is on.
export function seg(label, options, chosen, choose) {
  const group = el('span', { class: 'seg', role: 'group', 'aria-label': label });
  const draw = (now) => fill(group, options.map(([value, text]) => el('button', {
    type: 'button', class: value === now && 'on', 'aria-pressed': String(value === now), 'data-key': `${label}-${value}`, on: { click: () => {
      draw(value);
      choose(value);
    } },
  }, text)));
  draw(chosen);
  return group;
}

// empty says that there is nothing, and what to do.
export const empty = (title, text, ...acts) => el('div', { class: 'card empty' }, icon('box', 's28'), el('h3', {}, title), text && el('p', {}, text), acts.length > 0 && el('div', { class: 'row' }, acts));

// skeleton stands for rows that come.
export const skeleton = (rows = 4) => el('div', { class: 'card pad stack-16', 'aria-hidden': 'true' }, Array.from({ length: rows }, () => el('div', { class: 'stack' }, el('div', { class: 'sk l1' }), el('div', { class: 'sk l2' }))));

// toast says something for a while; it stays while it is looked at.
export function toast(text, link) {
  const box = el('div', { class: 'toast' }, icon('seal'), el('span', { class: 'grow' }, text), link,
    el('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Close', on: { click: () => box.remove() } }, icon('x')));
  const leave = () => (box.matches(':hover, :focus-within') ? setTimeout(leave, 2000) : box.remove());
  document.getElementById('toasts').append(box);
  say(text);
  setTimeout(leave, 6000);
}

export const crumbs = (href, name, ...here) => el('nav', { class: 'crumbs', 'aria-label': 'Path' }, el('a', { class: 'link', href }, name), icon('chev', 's14'), here);
