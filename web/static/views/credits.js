// Adds credits from outside of this browser: a payment that a wallet on a phone signs, a transfer to the wallet, and what
// on-ramps have delivered.
import { ask, get } from '../api.js';
import { describe, el, field, fill, say } from '../dom.js';
import { drawing } from '../qr.js';
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
  root.append(el('h1', { tabindex: -1 }, 'Add credits'), failure,
    el('p', {}, 'A deposit is signed by the wallet itself: this server has no key for it. With a wallet in this browser, use ', el('a', { href: '#/wallet' }, 'Wallet'), '.'),
    pay, bought, transfer(ways));
  const fails = (err) => {
    if (!signal.aborted) failure.replaceChildren(problem(err, 'Not done'));
  };

  let open = null;
  const state = el('p', { role: 'status' });
  const follow = async () => {
    if (!open || ['paid', 'expired'].includes(open.state)) return;
    const now = await get(`${payments}/${encodeURIComponent(open.id)}`, signal);
    if (now.state !== open.state) {
      fill(state, states[now.state], now.transaction && [' Transaction ', el('code', {}, now.transaction)]);
      say(states[now.state]);
    }
    open = now;
  };
  const show = (p) => {
    open = p;
    fill(state, states[p.state]);
    fill(pay, el('h2', {}, 'Pay with a phone'), drawing(p.qr, `QR code of the link for ${usdc(p.amount)}`), state,
      describe(['Deposit', usdc(p.amount)], ['Of the wallet', el('code', {}, p.customer)], ['Link', el('code', {}, p.link)], ['Ends', when(p.expires)]),
      el('div', { class: 'buttons' }, el('button', { type: 'button', on: { click: () => { open = null; fill(pay, form()); } } }, 'Another amount')));
  };
  const begin = async (amount) => show((await ask('POST', payments, { body: { amount, seconds: 900 }, signal })).body);
  const form = () => {
    const amount = el('input', { name: 'amount', value: '10', required: true, inputmode: 'decimal', autocomplete: 'off', maxlength: 24 });
    const f = el('form', { class: 'tall' }, field('Deposit, USDC', amount, 'Scan the code with a wallet that knows Solana Pay. Only the account of this customer gets a transaction.'),
      el('div', { class: 'wide' }, el('button', { class: 'act' }, 'Show the QR code')));
    f.addEventListener('submit', async (e) => {
      e.preventDefault();
      failure.replaceChildren();
      try {
        await begin(amount.value.trim());
      } catch (err) {
        fails(err);
      }
    });
    return [el('h2', {}, 'Pay with a phone'), f];
  };
  fill(pay, ways.payments ? form() : [el('h2', {}, 'Pay with a phone'),
    el('p', {}, 'This server has no public address. Start it with ', el('code', {}, '--public-url'), ' behind a proxy with TLS to have links and QR codes here.')]);

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
    fill(bought, el('h2', {}, 'Bought with money'), notices.length === 0 ? el('p', {}, `Nothing was reported by ${ways.onramps.join(' or ')}.`)
      : el('div', { class: 'scroll', tabindex: 0 }, el('table', {}, el('caption', {}, 'The chain says what has arrived, not the on-ramp'),
        el('thead', {}, el('tr', {}, ['When', 'On-ramp', 'State', 'Arrived', ''].map((h) => el('th', { scope: 'col' }, h || 'Action')))),
        el('tbody', {}, notices.slice(0, 20).map((n) => el('tr', {}, el('td', {}, when(n.received)), el('td', {}, n.provider), el('td', {}, reports[n.state]),
          el('td', {}, n.arrived && usdc(n.arrived)), el('td', {}, n.state === 'arrived' && el('button', { type: 'button', 'data-key': n.id, on: { click: () => deposit(n) } }, 'Deposit'))))))));
  };
  if (ways.onramps.length > 0) {
    await load();
    every(4000, load);
  }
  every(2000, follow);
}

// transfer shows where USDC can be sent to from anywhere; it is the wallet's own, not yet the credits'.
function transfer(ways) {
  return el('div', {}, el('h2', {}, 'Send USDC to the wallet'),
    el('p', {}, 'From an exchange or another wallet. It arrives in the wallet, from where it is deposited.'),
    drawing(ways.qr, 'QR code of the wallet'),
    describe(['Wallet', el('code', {}, ways.wallet)], ['Token', el('code', {}, ways.mint)], ['Link', el('code', {}, ways.transfer)]));
}
