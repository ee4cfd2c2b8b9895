// What is around every view: roles with their views, the network, the account, the theme, and the bar of a phone.
import { get, signedIn } from './api.js';
import { opened } from './dialog.js';
import { el, fill, icon } from './dom.js';
import { identicon } from './figures.js';
import { dollars, short } from './show.js';

// roles have their views: the name in the address, the words, a symbol. own are those of an account.
export const roles = [
  { name: 'Rent', views: [['market', 'Market', 'server'], ['deploy', 'Deploy', 'rocket', 'own'], ['leases', 'Leases', 'pulse', 'own'], ['clusters', 'Clusters', 'cluster', 'own'], ['endpoints', 'Endpoints', 'chat', 'own'], ['volumes', 'Volumes', 'box', 'own']] },
  { name: 'Provide', views: [['machines', 'Machines', 'server'], ['earnings', 'Earnings', 'coin'], ['stake', 'Stake', 'shield'], ['calculator', 'Calculator', 'tune']] },
  { name: 'Verify', views: [['audit', 'Audit', 'seal'], ['keepers', 'Keepers', 'key'], ['slashes', 'Slashes', 'warn'], ['network', 'Network', 'pulse']] },
];

// parents are the views in the navigation to which the others belong.
const parents = { lease: 'leases', purchase: 'deploy', cluster: 'clusters', newcluster: 'clusters', endpoint: 'endpoints', newendpoint: 'endpoints', machine: 'market', slash: 'slashes' };

const networks = { mainnet: 'Mainnet', devnet: 'Devnet', testnet: 'Testnet', localnet: 'Local network' };

// visible are the views that this server has for the visitor.
const visible = (role, about) => role.views.filter(([, , , own]) => !own || !about.public);

const frame = document.getElementById('frame');
const bar = document.getElementById('bar');

// setTheme shows light or dark, as was chosen here before or is now.
export function setTheme(next) {
  const known = next ?? localStorage.getItem('gantry.theme');
  if (known) document.documentElement.dataset.theme = known;
  if (next) localStorage.setItem('gantry.theme', next);
  dispatchEvent(new CustomEvent('gantry-theme'));
}

const dark = () => (document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);

const themeButton = () => el('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Light or dark', title: 'Light or dark', on: { click: () => setTheme(dark() ? 'light' : 'dark') } }, icon('moon'));

const link = (at, here, [view, name, symbol], withIcon) => el('a', { href: `#/${view}`, 'aria-current': view === at && (here ?? 'page') }, withIcon && icon(symbol), name);

// menu shows everything that a narrow screen has no room for.
function menu(about, at, out) {
  return opened({ class: 'menu', 'aria-label': 'Menu' }, (end) => [
    el('div', { class: 'row between' }, el('h2', {}, 'Menu'), el('span', { class: 'row' }, themeButton(), el('button', { type: 'button', class: 'icon-btn', 'aria-label': 'Close', 'data-first': true, on: { click: () => end() } }, icon('x')))),
    roles.map((r) => el('nav', { 'aria-label': r.name }, el('h3', { class: 't3' }, r.name), el('div', { class: 'menu-views', on: { click: (e) => e.target.closest('a') && end() } }, visible(r, about).map((v) => link(at, 'page', v, true))))),
    !about.public && el('div', { class: 'row', on: { click: () => end() } }, el('a', { class: 'btn', href: '#/wallet' }, icon('wallet'), 'Wallet'), el('button', { type: 'button', class: 'btn', on: { click: out } }, 'Sign out')),
  ].flat().filter(Boolean));
}

function account() {
  const place = el('a', { class: 'account', href: '#/wallet', 'aria-label': 'Wallet' }, el('span', {}, icon('wallet'), 'Wallet'));
  return place;
}

// balance shows what is free, and whose it is.
async function balance() {
  const place = frame.querySelector('.account');
  if (!place) return;
  try {
    const { account: a } = await get('/v1/status');
    fill(place, el('span', { class: 'medium' }, dollars(a.free), el('span', { class: 't3' }, ' free')), el('span', { class: 'hide-s' }, identicon(a.customer), el('code', {}, short(a.customer))));
    place.title = 'Your wallet';
    place.removeAttribute('aria-label');
  } catch { /* the view says what is wrong */ }
}

let drawn = '';

// draw shows the frame of a view. out signs out; find opens the palette.
export function draw(about, name, { out, find }) {
  const entered = signedIn() || about?.public;
  const at = parents[name] ?? name;
  const role = roles.find((r) => r.views.some(([v]) => v === at)) ?? roles[0];
  const now = [entered, at, about?.chain].join();
  if (now === drawn) return;
  drawn = now;
  const net = about?.chain?.split(':')[1];
  const network = net && net !== 'mainnet' && el('span', { class: 'tag warn', title: 'A network for tests: its money is worth nothing' }, networks[net] ?? net);
  if (!entered) {
    fill(frame, el('div', { class: 'tools' }, network, themeButton()));
    fill(bar);
    return;
  }
  fill(frame,
    el('nav', { class: 'roles', 'aria-label': 'What you do here' }, roles.map((r) => el('a', { href: `#/${r.views[0][0]}`, 'aria-current': r === role && 'true', 'data-key': `role-${r.name}` }, r.name))),
    el('nav', { class: 'views', 'aria-label': role.name }, visible(role, about).map((v) => link(at, 'page', v))),
    el('div', { class: 'tools' },
      el('button', { type: 'button', class: 'find', title: 'Jump to a view, a lease or an address', on: { click: find } }, icon('search', 's14'), el('span', {}, 'Jump to…'), el('kbd', {}, '⌘K')),
      network, themeButton(), !about.public && [account(), el('button', { type: 'button', class: 'icon-btn leave', 'aria-label': 'Sign out', title: 'Sign out', on: { click: out } }, icon('undo'))]));
  bar.setAttribute('aria-label', `${role.name}, and menu`);
  fill(bar, visible(role, about).slice(0, 4).map((v) => link(at, 'page', v, true)), el('button', { type: 'button', on: { click: () => menu(about, at, out) } }, icon('menu'), 'Menu'));
  balance();
}

// refresh reads the balance anew.
export const refresh = () => balance();
