// Signs in: with the customer's wallet, or with the server's token where the link that it has printed is used or too old.
import { ask, forget, get, keep } from '../api.js';
import { el, field } from '../dom.js';
import { problem } from '../show.js';
import { connect, signText, signsTexts } from '../wallet.js';
import { chooser } from './connect.js';

// byWallet has the wallet sign a text of the server, which is good once.
async function byWallet(wallet, about) {
  const who = await connect(wallet, about.chain);
  const { body: challenge } = await ask('POST', '/page/challenge', { body: { account: who.account.address } });
  const answer = await signText(who, challenge);
  const { body } = await ask('POST', '/page/session/wallet', { body: { account: challenge.address, nonce: challenge.nonce, issuedAt: challenge.issuedAt, ...answer } });
  keep(body.token);
}

export function signIn({ failure, about, signal, done }) {
  const token = el('input', { type: 'password', name: 'token', required: true, autocomplete: 'off', spellcheck: 'false', maxlength: 128 });
  const said = el('div', {}, failure && (failure.body ? problem(failure) : el('p', { role: 'alert' }, failure.message)));
  const form = el('form', {
    class: 'tall', on: {
      submit: async (e) => {
        e.preventDefault();
        keep(token.value.trim());
        try {
          await get('/v1/status');
          done();
        } catch (err) {
          if (err.status === 401) forget();
          if (err.status !== 401 && err.status !== 0) return done(); // the token is good; the view says what is wrong
          forget();
          said.replaceChildren(problem(err));
          token.focus();
        }
      },
    },
  }, field('Token of the server', token, 'gantry serve has printed it, or written it to --token-file. It is kept for this tab, until it is closed.'),
  el('div', {}, el('button', { class: 'btn act' }, 'Sign in')));
  return el('div', { class: 'narrow stack-16' }, el('h1', { tabindex: -1 }, 'Sign in'), said,
    about && [el('h2', {}, 'With a wallet'),
      el('p', {}, 'The wallet that this server acts for signs a text, which is good once. That costs nothing and moves nothing.'),
      chooser({
        about, verb: 'Sign in with', filter: signsTexts, signal, chosen: async (wallet) => {
          await byWallet(wallet, about);
          done();
        },
      }), el('h2', {}, 'With the token')],
    el('p', {}, 'The link that gantry serve prints signs a browser in once. Without it, give the token.'), form);
}
