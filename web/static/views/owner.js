// Whose machines a view of providers shows: those of an address, else the visitor's own.
import { get } from '../api.js';
import { el } from '../dom.js';
import { problem } from '../show.js';
import { current } from '../wallet.js';
import { empty } from '../parts.js';
import { lookup } from './lookup.js';

// owner reads a provider. form looks another one up; p is null where the wallet is none, and then instead says so.
export async function owner({ view, argument, signal, about }) {
  const connected = about.chain && await current(about.chain);
  const own = connected?.account.address ?? (about.public ? '' : (await get('/v1/status', signal)).account.customer);
  const wallet = decodeURIComponent(argument) || own;
  const form = lookup({ view, name: 'wallet', value: wallet, label: 'Wallet of the owner', note: 'Of anybody: what is shown is public.', verb: 'Show' },
    own && wallet !== own && el('a', { class: 'btn', href: `#/${view}/${encodeURIComponent(own)}` }, 'My wallet'));
  const none = empty('This wallet is not a provider.', 'Give the wallet of one, or become one: gantry-agent setup asks, checks and registers.', el('a', { class: 'btn', href: '#/calculator' }, 'What would it earn?'));
  if (!wallet) return { form, p: null, instead: none };
  const read = () => get(`/v1/providers/${encodeURIComponent(wallet)}`, signal);
  try {
    return { form, p: await read(), read, wallet };
  } catch (err) {
    if (err.status !== 404 && err.status !== 422) throw err;
    return { form, p: null, instead: argument && wallet !== own ? problem(err) : none };
  }
}
