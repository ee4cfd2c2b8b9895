// What the wallet signs: the server builds a transaction and says what it does, the person agrees, the wallet signs, the
// server compares and sends it.
import { ask } from './api.js';
import { confirmed } from './dialog.js';
import { describe, el, say } from './dom.js';
import { usdc } from './show.js';
import { signTransaction } from './wallet.js';

// again are the statuses after which the same signed transaction is handed in again: it takes effect once.
const again = [0, 502, 503, 504];

// signed builds a transaction of a request and has it signed and sent. It is null where the person does not agree. working
// is called when it is signed, with the number of the try.
export async function signed(who, request, { title, yes = 'Sign with the wallet', signal, working }) {
  const { body: t } = await ask('POST', '/page/transactions', { body: request, signal });
  const agreed = await confirmed({
    title, yes, body: el('div', {}, el('ul', { class: 'effects' }, t.effects.map((e) => el('li', {}, e))),
      describe(['Leaves the wallet', el('strong', {}, [t.usdc !== '0.00' && usdc(t.usdc), t.sol].filter(Boolean).join(' and '))], ['Including the network’s fee', t.fee]),
      el('p', { class: 't3 small' }, 'The wallet shows the transaction too. Sign within a minute, or it expires.')),
  });
  if (!agreed) return null;
  const raw = await signTransaction(who, t.transaction, t.chain);
  for (let n = 1; ; n++) {
    working?.(n);
    try {
      const { body: sent } = await ask('POST', `/page/transactions/${encodeURIComponent(t.id)}`, { body: { signed: raw } });
      say('The transaction has taken effect.');
      return sent;
    } catch (err) {
      if (!again.includes(err.status) || n >= 5) throw err;
    }
  }
}
