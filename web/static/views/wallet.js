// The customer's wallet: what it and its credits hold, deposits and withdrawals, and what the server's session key may spend.
import { get } from '../api.js';
import { choice, describe, el, field, fill } from '../dom.js';
import { address, inCard, stats } from '../parts.js';
import { micro, problem, usdc, when } from '../show.js';
import { signed } from '../sign.js';
import { connect, current, disconnect } from '../wallet.js';
import { chooser } from './connect.js';

// mayOrder says whether the session key can reserve anything at a time, unix seconds.
export const mayOrder = (status) => status.account.session.expires > status.cluster.time && status.account.session.left !== '0.00' && status.account.free !== '0.00';

const sol = (text) => Number(text.replace(' SOL', ''));

export async function wallet({ root, signal, every }) {
  const about = await get('/page/about', signal);
  const top = el('div', { class: 'gap' });
  const said = el('div', { role: 'status' });
  const failure = el('div');
  const who = el('div');
  const forms = el('div', { class: 'gap' });
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Wallet'), el('p', {}, 'With a wallet on a phone, or money from a card: ', el('a', { class: 'link', href: '#/credits' }, 'Add credits'), '.')),
    el('button', { type: 'button', class: 'btn', on: { click: () => dispatchEvent(new CustomEvent('gantry-leave')) } }, 'Sign out')), el('div', { class: 'gap' }, top, said, failure, who, forms));
  let status;
  let funds;
  let shown = '';
  const load = async () => {
    [status, funds] = await Promise.all([get('/v1/status', signal), get('/page/funds', signal)]);
    const now = JSON.stringify([status.account, funds]);
    if (now === shown) return;
    shown = now;
    const s = status.account.session;
    fill(top,
      stats('Money', ['In the wallet', usdc(funds.usdc)], ['And for fees', funds.sol], ['Free credits', usdc(status.account.free)],
        ['Reserved', usdc(status.account.reserved)], ['Left of the session key’s cap', usdc(s.left)]),
      !mayOrder(status) && el('p', {}, 'The server cannot order yet: it needs credits and a session key with a cap. Both come with one signature, below.'),
      inCard({ name: 'Keys' }, describe(['Wallet', address(funds.wallet, 'wallet')], ['USDC is the token', address(funds.mint, 'token')], ['The server’s session key', address(s.key, 'session key')],
        ['It may reserve', s.expires ? [`at most ${usdc(s.cap)}, of which ${usdc(s.spent)} are used, until `, when(s.expires)] : 'nothing yet'], ['It has for fees and rent', funds.sessionSol])));
  };
  await load();

  let busy = false;
  // act has a request signed and sent, and shows what came of it.
  const act = async (request, title) => {
    if (busy) return;
    busy = true;
    failure.replaceChildren();
    fill(said);
    try {
      const sent = await signed(await current(about.chain), request, {
        title, signal, working: (n) => fill(said, el('p', {}, n === 1 ? 'Signed; waiting for the network.' : 'The network is slow; still waiting. The transaction takes effect once, or never.')),
      });
      fill(said, sent && el('p', {}, 'Done, in transaction ', address(sent.signature, 'transaction', { kind: 'tx' }), '. ', request.authorise && el('a', { class: 'link', href: '#/market' }, 'Look for GPUs')));
    } catch (err) {
      if (signal.aborted) return;
      fill(said);
      failure.replaceChildren(problem(err, 'Not done'));
    }
    busy = false;
    try {
      await load();
      dispatchEvent(new CustomEvent('gantry-changed'));
    } catch { /* the next round says it, or the view is left */ }
  };

  const draw = async () => {
    const c = await current(about.chain);
    if (!c) {
      fill(who, inCard({ name: 'Connect' }, el('p', {}, 'Deposits, withdrawals and what the server may spend are signed by the wallet itself. The server never has its key.'),
        chooser({ about, verb: 'Connect', signal, chosen: async (w) => {
          await connect(w, about.chain);
          await draw();
        } })));
      fill(forms);
      return;
    }
    const drop = el('button', { type: 'button', class: 'btn', on: { click: () => {
      disconnect();
      draw();
    } } }, 'Disconnect');
    if (c.account.address !== funds.wallet) {
      fill(who, problem({ body: { title: 'Another wallet', detail: `${c.wallet.name} gives ${c.account.address}, and this server acts for ${funds.wallet}`, nextStep: 'choose that account in the wallet, or start gantry serve --customer for yours' } }), drop);
      fill(forms);
      return;
    }
    fill(who, el('p', {}, 'Connected: ', c.wallet.name, ' ', drop));
    fill(forms, depositForm(status, funds, act), withdrawForm(act),
      status.account.session.expires > 0 && inCard({ name: 'Take the powers back' }, el('p', {}, 'The server orders nothing more. Leases that run go on.'), el('div', { class: 'buttons' },
        el('button', { type: 'button', class: 'btn stop', on: { click: () => act({ revoke: true }, 'Take the powers back?') } }, 'Take the session key’s powers back'))));
  };
  addEventListener('gantry-wallets', draw, { signal });
  await draw();
  every(4000, load);
}

// depositForm brings credits and names the session key, in one transaction.
function depositForm(status, funds, act) {
  const amount = (name, value, required) => el('input', { name, value, required, inputmode: 'decimal', autocomplete: 'off', maxlength: 24 });
  const free = micro(funds.usdc) ?? 0n;
  const first = free >= 25_000_000n ? '25' : funds.usdc;
  const cap = micro(status.account.session.cap) > 0n ? status.account.session.cap : first;
  const form = el('form', { class: 'tall' },
    field('Deposit, USDC', amount('deposit', mayOrder(status) ? '' : first), 'Empty: none. What no order holds can be withdrawn at any time.'),
    field('The server may reserve in all, USDC', amount('cap', cap, true), 'The most that a stolen server could spend. What it has used counts on.'),
    field('Until', choice('seconds', [['86400', 'in a day'], ['604800', 'in a week'], ['2592000', 'in 30 days']], '86400')),
    field('SOL for the server’s fees and rent', amount('fund', sol(funds.sessionSol) < 0.02 ? '0.05' : '0'), 'The session key pays them. What an order takes for its account comes back when it is closed.'),
    el('div', { class: 'wide' }, el('button', { class: 'btn act' }, 'Review and sign')));
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    const text = (name) => form.elements[name].value.trim();
    const request = { authorise: { cap: text('cap'), seconds: Number(text('seconds')), fund: text('fund') || '0' } };
    if (text('deposit') && micro(text('deposit')) !== 0n) request.deposit = text('deposit');
    act(request, 'Sign this?');
  });
  return inCard({ name: 'Deposit and authorise' }, form);
}

function withdrawForm(act) {
  const amount = el('input', { name: 'withdraw', value: 'all', required: true, autocomplete: 'off', maxlength: 24 });
  const form = el('form', { class: 'tall' }, field('Withdraw, USDC', amount, 'An amount, or all that is free.'), el('div', { class: 'wide' }, el('button', { class: 'btn' }, 'Withdraw')));
  form.addEventListener('submit', (e) => {
    e.preventDefault();
    act({ withdraw: amount.value.trim() }, 'Withdraw this?');
  });
  return inCard({ name: 'Withdraw' }, form);
}
