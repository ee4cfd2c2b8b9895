// Shows the view that the address names, and signs in and out.
import { ask, forget, get, keep, signedIn, signInPath } from './api.js';
import { el, fill, say } from './dom.js';
import { problem } from './show.js';
import { disconnect, listen } from './wallet.js';
import { signIn } from './views/signin.js';

// views are loaded when they are first shown.
const views = {
  market: async () => (await import('./views/market.js')).market,
  order: async () => (await import('./views/order.js')).order,
  purchase: async () => (await import('./views/purchase.js')).purchase,
  leases: async () => (await import('./views/leases.js')).leases,
  lease: async () => (await import('./views/lease.js')).lease,
  clusters: async () => (await import('./views/clusters.js')).clusters,
  cluster: async () => (await import('./views/cluster.js')).cluster,
  newcluster: async () => (await import('./views/newcluster.js')).newcluster,
  deployments: async () => (await import('./views/deployments.js')).deployments,
  deploy: async () => (await import('./views/deploy.js')).deploy,
  deployment: async () => (await import('./views/deployment.js')).deployment,
  provider: async () => (await import('./views/provider.js')).provider,
  machine: async () => (await import('./views/machine.js')).machine,
  wallet: async () => (await import('./views/wallet.js')).wallet,
  credits: async () => (await import('./views/credits.js')).credits,
  audit: async () => (await import('./views/audit.js')).audit,
  slash: async () => (await import('./views/slash.js')).slash,
  keepers: async () => (await import('./views/keepers.js')).keepers,
  status: async () => (await import('./views/status.js')).status,
};

// parents are the views in the navigation to which the others belong.
const parents = { lease: 'leases', cluster: 'clusters', newcluster: 'clusters', purchase: 'order', deploy: 'deployments', deployment: 'deployments', machine: 'provider', slash: 'keepers', credits: 'wallet' };
const main = document.getElementById('main');
const nav = document.getElementById('nav');
const out = document.getElementById('out');
const where = document.getElementById('where');

let leave = new AbortController();

// parse reads #/view/argument?name=value.
function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, ...rest] = path.split('/');
  return { name: Object.hasOwn(views, name) ? name : 'market', argument: rest.join('/'), query: new URLSearchParams(query) };
}

async function show(failure) {
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  nav.hidden = out.hidden = !signedIn();
  const { name, argument, query } = parse();
  for (const a of nav.querySelectorAll('a')) {
    const here = a.getAttribute('href') === `#/${parents[name] ?? name}`;
    if (here) {
      a.setAttribute('aria-current', 'page');
      a.scrollIntoView({ block: 'nearest', inline: 'nearest' }); // on a narrow screen the list scrolls
    }
    if (!here) a.removeAttribute('aria-current');
  }
  if (!signedIn()) {
    where.textContent = '';
    let about;
    try {
      about = await get('/page/about', signal);
    } catch (err) {
      if (signal.aborted) return;
      failure ??= err;
    }
    fill(main, signIn({ failure, about, signal, done: () => show() }));
    main.querySelector('h1').focus();
    return;
  }
  if (!where.textContent) place();
  const root = el('div');
  fill(main, root);
  try {
    const view = await views[name]();
    if (signal.aborted) return;
    await view({ root, argument, query, signal, every: (ms, f) => every(ms, f, signal, root) });
  } catch (err) {
    if (signal.aborted) return;
    root.append(problem(err));
  }
  if (signal.aborted) return;
  const title = root.querySelector('h1');
  document.title = title ? `${title.textContent} – Gantry` : 'Gantry';
  if (!root.contains(document.activeElement)) title?.focus();
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

async function place() {
  try {
    const s = await get('/v1/status');
    where.textContent = s.cluster.name === 'mainnet-beta' ? s.cluster.name : `${s.cluster.name}: a network for tests`;
  } catch {
    where.textContent = ''; // the view says what is wrong
  }
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

async function start() {
  listen();
  addEventListener('hashchange', enter);
  document.querySelector('.skip').addEventListener('click', (e) => {
    e.preventDefault();
    main.focus();
  });
  addEventListener('gantry-out', () => {
    if (!nav.hidden) show(new Error('This browser is not signed in any more.'));
  });
  out.addEventListener('click', async () => {
    try {
      await ask('DELETE', signInPath);
    } catch { /* the token is forgotten here all the same */ }
    forget();
    disconnect();
    say('Signed out.');
    show();
  });
  await enter();
}

start();
