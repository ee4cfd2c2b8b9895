// Adds credits from outside of this browser: a payment that a wallet on a phone signs, a transfer to the wallet, and what
// on-ramps have delivered.
import { ask, get } from '../api.js';
import { describe, el, field, fill, say } from '../dom.js';
import { drawing } from '../qr.js';
import { address, inCard } from '../parts.js';
import { table } from '../table.js';
import { problem, usdc, when } from '../show.js';
import { signed } from '../sign.js';
import { current } from '../wallet.js';

const payments = '/v1/credits/payments';

const states = {
  waiting: 'Waiting for a wallet to follow the link.',
  fetched: 'A wallet has fetched the deposit. Confirm it there.',
  paid: 'Paid: the credits have risen.',
  expired: 'The link has ended, and nothing was paid.',
};

const reports = {
  pending: 'the on-ramp works on it', failed: 'it came to nothing', reported: 'sent, says the on-ramp; the chain does not show it yet',
  arrived: 'arrived in the wallet', repeated: 'reported twice', elsewhere: 'for another wallet, network or token',
};

export async function credits({ root, signal, every }) {
  const [ways, about] = await Promise.all([get('/v1/credits/ways', signal), get('/page/about', signal)]);
  const failure = el('div');
  const pay = el('div');
  const bought = el('div');
  root.append(el('div', { class: 'view-head' }, el('div', {}, el('h1', { tabindex: -1 }, 'Add credits'), el('p', {}, 'The wallet signs a deposit: this server has no key for it. If you have a wallet in this browser, use ', el('a', { class: 'link', href: '#/wallet' }, 'Wallet'), '.'))), failure, el('div', { class: 'gap' }, pay, bought, transfer(ways)));
  const fails = (err) => {
    if (!signal.aborted) failure.replaceChildren(problem(err, 'Not done'));
  };

  let open = null;
  const state = el('p', { role: 'status' });
  const follow = async () => {
    if (!open || ['paid', 'expired'].includes(open.state)) return;
    const now = await get(`${payments}/${encodeURIComponent(open.id)}`, signal);
    if (now.state !== open.state) {
      fill(state, states[now.state], now.transaction && [' Transaction ', address(now.transaction, 'transaction', { kind: 'tx' })]);
      say(states[now.state]);
    }
    open = now;
  };
  const show = (p) => {
    open = p;
    fill(state, states[p.state]);
    fill(pay, inCard({ name: '1. Pay with a phone' }, el('div', { class: 'row top wrap wide' }, el('div', { class: 'qrbox act' }, drawing(p.qr, `QR code of the link for ${usdc(p.amount)}`)), el('div', { class: 'stack-12 grow' }, state, describe(['Deposit', usdc(p.amount)], ['Of the wallet', address(p.customer, 'wallet')], ['Link', el('code', {}, p.link)], ['Ends', when(p.expires)]),
      el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'btn', on: { click: () => { open = null; fill(pay, form()); } } }, 'Another amount'))))));
  };
  const begin = async (amount) => show((await ask('POST', payments, { body: { amount, seconds: 900 }, signal })).body);
  const form = () => {
    const amount = el('input', { name: 'amount', value: '10', required: true, inputmode: 'decimal', autocomplete: 'off', maxlength: 24 });
    const f = el('form', { class: 'tall' }, field('Deposit, USDC', amount, 'Scan the code with a wallet that knows Solana Pay. Only the account of this customer gets a transaction.'),
      el('div', { class: 'wide' }, el('button', { class: 'btn act' }, 'Show the QR code')));
    f.addEventListener('submit', async (e) => {
      e.preventDefault();
      failure.replaceChildren();
      try {
        await begin(amount.value.trim());
      } catch (err) {
        fails(err);
      }
    });
    return inCard({ name: '1. Pay with a phone' }, f);
  };
  fill(pay, ways.payments ? form() : inCard({ name: '1. Pay with a phone' }, el('p', {}, 'This server has no public address. Start it with ', el('code', {}, '--public-url'), ' behind a proxy with TLS to have links and QR codes here.')));

  let shown = '';
  const deposit = async (n) => {
    failure.replaceChildren();
    try {
      const who = await current(about.chain);
      if (!who) {
        if (!ways.payments) throw new Error('no wallet is connected in this browser: connect it under Wallet');
        await begin(n.arrived);
        return;
      }
      await signed(who, { deposit: n.arrived }, { title: 'Deposit what has arrived?', signal });
    } catch (err) {
      fails(err);
    }
  };
  const load = async () => {
    const { notices } = await get('/v1/credits/onramp', signal);
    const now = JSON.stringify(notices);
    if (now === shown) return;
    shown = now;
    fill(bought, notices.length === 0 ? inCard({ name: 'Bought with money' }, el('p', { class: 't2' }, `Nothing was reported by ${ways.onramps.join(' or ')}.`))
      : table('Bought with money', 'The chain says what has arrived, not the on-ramp', ['When', 'On-ramp', 'State', 'Arrived #', 'Action'],
        notices.slice(0, 20).map((n) => [when(n.received), n.provider, reports[n.state], n.arrived && usdc(n.arrived), n.state === 'arrived' && el('button', { type: 'button', class: 'btn sm', 'data-key': n.id, on: { click: () => deposit(n) } }, 'Deposit')])));
  };
  if (ways.onramps.length > 0) {
    await load();
    every(4000, load);
  }
  every(2000, follow);
}

// transfer shows where USDC can be sent to from anywhere; it is the wallet's own, not yet the credits'.
function transfer(ways) {
  return inCard({ name: '2. Receive: send USDC to the wallet' }, el('p', {}, 'From an exchange or another wallet. It arrives in the wallet, from where it is deposited.'),
    el('div', { class: 'qrbox' }, drawing(ways.qr, 'QR code of the wallet')),
    describe(['Wallet', address(ways.wallet, 'wallet')], ['Token', address(ways.mint, 'token')], ['Link', el('code', {}, ways.transfer)]));
}
