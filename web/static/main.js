// Shows the view that the address names, and signs in and out.
import { ask, forget, get, keep, signedIn, signInPath } from './api.js';
import { el, fill, say } from './dom.js';
import { draw, refresh, roles, setTheme } from './frame.js';
import { help, open } from './palette.js';
import { lookAt } from './parts.js';
import { problem } from './show.js';
import { disconnect, listen } from './wallet.js';
import { signIn } from './views/signin.js';

// views are loaded when they are first shown.
const views = {
  market: async () => (await import('./views/market.js')).market,
  deploy: async () => (await import('./views/deploy.js')).deploy,
  purchase: async () => (await import('./views/purchase.js')).purchase,
  leases: async () => (await import('./views/leases.js')).leases,
  lease: async () => (await import('./views/lease.js')).lease,
  clusters: async () => (await import('./views/clusters.js')).clusters,
  cluster: async () => (await import('./views/cluster.js')).cluster,
  newcluster: async () => (await import('./views/newcluster.js')).newcluster,
  endpoints: async () => (await import('./views/endpoints.js')).endpoints,
  newendpoint: async () => (await import('./views/newendpoint.js')).newendpoint,
  endpoint: async () => (await import('./views/endpoint.js')).endpoint,
  volumes: async () => (await import('./views/volumes.js')).volumes,
  machines: async () => (await import('./views/machines.js')).machines,
  earnings: async () => (await import('./views/earnings.js')).earnings,
  stake: async () => (await import('./views/stake.js')).stake,
  calculator: async () => (await import('./views/calculator.js')).calculator,
  machine: async () => (await import('./views/machine.js')).machine,
  wallet: async () => (await import('./views/wallet.js')).wallet,
  credits: async () => (await import('./views/credits.js')).credits,
  audit: async () => (await import('./views/audit.js')).audit,
  slash: async () => (await import('./views/slash.js')).slash,
  slashes: async () => (await import('./views/slashes.js')).slashes,
  keepers: async () => (await import('./views/keepers.js')).keepers,
  network: async () => (await import('./views/network.js')).network,
};

const main = document.getElementById('main');

let leave = new AbortController();
let about = null;

// parse reads #/view/argument?name=value.
function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/');
  return { name: Object.hasOwn(views, name) ? name : 'market', argument: rest.join('/'), query: new URLSearchParams(query) };
}

// learn asks what the server is for, once.
async function learn(signal) {
  if (about) return;
  about = await get('/page/about', signal);
  lookAt(about.explorer);
}

async function show(failure) {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const { name, argument, query } = parse();
  const loading = views[name]();
  loading.catch(() => {}); // said below
  try {
    await learn(signal);
  } catch (err) {
    if (signal.aborted) return;
    failure ??= err;
  }
  const own = roles.some((r) => r.views.some(([view, , , needs]) => needs && view === name)) || ['wallet', 'credits'].includes(name);
  if (about?.public && own) {
    location.replace('#/market');
    return;
  }
  draw(about ?? {}, name, { out, find: () => open(about ?? {}) });
  if (!signedIn() && !about?.public) {
    fill(main, signIn({ failure, about, signal, done: () => show() }));
    main.querySelector('h1').focus();
    return;
  }
  const root = el('div');
  fill(main, root);
  try {
    const view = await loading;
    if (signal.aborted) return;
    await view({ root, argument, query, signal, about: about ?? {}, every: (ms, f) => every(ms, f, signal, root) });
  } catch (err) {
    if (signal.aborted) return;
    root.append(problem(err));
  }
  if (signal.aborted) return;
  const title = root.querySelector('h1');
  document.title = title ? `${title.dataset.title ?? title.textContent} – Gantry` : 'Gantry';
  if (!root.contains(document.activeElement)) title?.focus({ preventScroll: true });
}

// every asks anew while the view is shown and can be seen. What fails is said once, above the view, until it works again.
function every(ms, f, signal, root) {
  const place = el('div');
  root.append(place);
  let said = '';
  const round = async () => {
    if (signal.aborted) return;
    if (!document.hidden) {
      try {
        await f();
        if (said) place.replaceChildren();
        said = '';
      } catch (err) {
        if (signal.aborted) return;
        if (err.message !== said) place.replaceChildren(problem(err));
        said = err.message;
      }
    }
    if (!signal.aborted) setTimeout(round, ms);
  };
  setTimeout(round, ms);
}

async function out() {
  try {
    await ask('DELETE', signInPath);
  } catch { /* the token is forgotten here all the same */ }
  forget();
  disconnect();
  say('Signed out.');
  show();
}

// enter shows the view, or signs in by a code. The code leaves the address before anything else, so that neither a bookmark
// nor a reload has it.
async function enter() {
  const code = /^#code=([\w-]+)$/.exec(location.hash);
  let failure;
  if (code) {
    history.replaceState(null, '', '#/market');
    try {
      keep((await ask('POST', signInPath, { body: { code: code[1] } })).body.token);
    } catch (err) {
      failure = err;
    }
  }
  await show(failure);
}

// where a letter after g leads.
const goes = { m: 'market', d: 'deploy', l: 'leases', a: 'audit' };
let after = 0;

function pressed(e) {
  if (!signedIn() && !about?.public) return;
  if ((e.ctrlKey || e.metaKey) && e.key === 'k') {
    e.preventDefault();
    if (!document.querySelector('dialog')) open(about ?? {});
    return;
  }
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, textarea, select, dialog, [contenteditable]')) return;
  const second = Date.now() < after && goes[e.key];
  after = e.key === 'g' ? Date.now() + 1500 : 0;
  if (second) location.hash = `#/${second}`;
  else if (e.key === 'd') location.hash = '#/deploy';
  else if (e.key === '?') help();
  else if (e.key === '/') (document.querySelector('.search input')?.focus(), document.querySelector('.search') || open(about ?? {}));
  else return;
  e.preventDefault();
}

async function start() {
  setTheme();
  listen();
  addEventListener('hashchange', enter);
  addEventListener('keydown', pressed);
  addEventListener('gantry-changed', refresh);
  addEventListener('gantry-leave', out);
  document.querySelector('.skip').addEventListener('click', (e) => {
    e.preventDefault();
    main.focus();
  });
  addEventListener('gantry-out', () => document.querySelector('.roles') && show(new Error('This browser is not signed in any more.')));
  await enter();
}

start();
