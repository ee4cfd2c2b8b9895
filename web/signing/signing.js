// Signs what a command on this machine sends: it connects a wallet, shows what each transaction does, and hands the
// signature back. The command builds the transactions, compares and sends them.
import { el, fill, say } from './dom.js';
import { problem } from './show.js';
import { connect, listen, signTransaction } from './wallet.js';
import { chooser } from './views/connect.js';

const main = document.getElementById('main');
const failure = el('div');
const body = el('div');
let token = '';

async function ask(method, path, data) {
  let res;
  try {
    res = await fetch(path, {
      method, cache: 'no-store', credentials: 'omit', redirect: 'error', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: data === undefined ? undefined : JSON.stringify(data),
    });
  } catch {
    throw Object.assign(new Error('the command does not answer: it has ended'), { gone: true });
  }
  if (res.status === 204) return null;
  const document = await res.json();
  if (!res.ok) throw Object.assign(new Error(document.detail), { body: document, status: res.status });
  return document;
}

const fails = (err) => failure.replaceChildren(problem(err, 'Not done'));

function title(text) {
  const h = el('h1', { tabindex: -1 }, text);
  document.title = `${text} – Gantry`;
  return h;
}

// connected waits for a wallet whose account the command takes.
function connected(about) {
  return new Promise((resolve) => {
    fill(body, title('Connect a wallet'), el('p', {}, 'The command ', el('code', {}, about.command), ' signs with a wallet of this browser, which may have its key on a hardware wallet.'),
      about.expect && el('p', {}, 'It has to be the account ', el('code', {}, about.expect), '.'),
      chooser({ about, verb: 'Connect', chosen: async (w) => {
        const who = await connect(w, about.chain);
        await ask('POST', '/sign/account', { account: who.account.address });
        resolve(who);
      } }));
  });
}

// show puts a transaction before the person.
function show(who, about, request, again) {
  let busy = false;
  const state = el('p', { role: 'status' });
  const sign = async () => {
    if (busy) return;
    busy = true;
    failure.replaceChildren();
    try {
      const { fresh } = await ask('POST', `/sign/request/${request.id}/fresh`);
      if (!fresh) {
        again.sign = true; // the same with a newer blockhash comes at once
        return;
      }
      fill(state, 'Confirm it in the wallet, and on the device if it has one, within a minute.');
      const signed = await signTransaction(who, request.transaction, about.chain);
      await ask('POST', `/sign/request/${request.id}`, { signed });
    } catch (err) {
      fill(state);
      fails(err);
    }
    busy = false;
  };
  const refuse = async () => {
    try {
      await ask('POST', `/sign/request/${request.id}/refuse`);
    } catch (err) {
      fails(err);
    }
  };
  fill(body, title('Sign this?'), el('ul', { class: 'effects' }, request.effects.map((e) => el('li', {}, e))),
    el('p', { class: 't3 small' }, 'Signed by ', el('code', {}, who.account.address), '. The wallet and the device show the transaction too: compare.'), state,
    el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'btn act', on: { click: sign } }, `Sign with ${who.wallet.name}`),
      el('button', { type: 'button', class: 'btn', on: { click: refuse } }, 'Refuse')));
  body.querySelector('h1').focus();
  if (again.sign) {
    again.sign = false;
    sign();
  }
}

async function start() {
  listen();
  fill(main, failure, body);
  const code = /^#code=([\w-]+)$/.exec(location.hash);
  history.replaceState(null, '', '/');
  try {
    if (!code) throw new Error('this address has no code, or the page was loaded again: start the command again');
    const about = await ask('POST', '/sign/session', { code: code[1] });
    token = about.token;
    document.getElementById('where').textContent = about.command;
    const who = await connected(about);
    const again = { sign: false };
    for (let known = ''; ;) {
      const now = await ask('GET', `/sign/request?known=${encodeURIComponent(known)}`);
      if (now.key === known) continue;
      known = now.key;
      if (now.state === 'done') break;
      if (now.state === 'sign') {
        show(who, about, now, again);
        continue;
      }
      if (again.sign) continue;
      failure.replaceChildren();
      fill(body, title('Connected'), el('p', { role: 'status' }, now.note || 'The command prepares a transaction.'), el('p', { class: 't3 small' }, 'Leave this tab open.'));
      if (now.note) say(now.note);
    }
    fill(body, title('Done'), el('p', {}, 'The command has ended. What came of it is in its terminal. This tab can be closed.'));
  } catch (err) {
    if (err.gone) fill(body, title('Done'), el('p', {}, 'The command has ended. What came of it is in its terminal. This tab can be closed.'));
    else fails(err);
  }
}

start();
