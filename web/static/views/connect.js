// The list of the browser's wallets, of which one is chosen.
import { el, field, fill } from '../dom.js';
import { problem } from '../show.js';
import { usable } from '../wallet.js';

// chooser offers the wallets that are there for a cluster, and those that come while it is shown. chosen is called with one;
// what it throws is shown. verb is what the buttons say.
export function chooser({ about, verb, filter = () => true, chosen, signal }) {
  const list = el('div', { class: 'buttons' });
  const failure = el('div');
  const body = el('div', {}, list, failure);
  let busy = false;
  const choose = async (wallet) => {
    if (busy) return;
    busy = true;
    failure.replaceChildren();
    try {
      await chosen(wallet);
    } catch (err) {
      if (!signal?.aborted) failure.replaceChildren(problem(err, 'Not connected'));
    }
    busy = false;
  };
  const draw = () => {
    const all = usable(about.chain).filter(filter);
    fill(list, all.length === 0
      ? el('p', {}, `No wallet is in this browser that signs for ${about.chain}.`)
      : all.map((w) => el('button', { type: 'button', class: 'btn', 'data-key': `wallet-${w.name}`, on: { click: () => choose(w) } }, `${verb} ${w.name}`)));
  };
  addEventListener('gantry-wallets', draw, { signal });
  draw();
  if (about.local) {
    const file = el('input', { type: 'file', name: 'keypair', accept: '.json' });
    file.addEventListener('change', async () => {
      if (!file.files[0]) return;
      failure.replaceChildren();
      try {
        const { open } = await import('../local/wallet.js');
        await choose(await open(await file.files[0].text(), about.chain));
      } catch (err) {
        failure.replaceChildren(problem({ body: { title: 'No wallet', detail: err.message } }));
      }
      file.value = '';
    });
    body.append(el('div', { class: 'dev' }, field('Development wallet: a keypair file of this local network', file,
      'For local networks only: never give the file of a wallet that holds anything. gantry-localnet up prints where the files are. The key stays in this tab.')));
  }
  return body;
}
