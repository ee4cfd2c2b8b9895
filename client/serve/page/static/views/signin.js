// Signs in with the server's token, where the link that it has printed is used or too old.
import { forget, get, keep } from '../api.js';
import { el, field } from '../dom.js';
import { problem } from '../show.js';

export function signIn({ failure, done }) {
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
  el('div', {}, el('button', { class: 'act' }, 'Sign in')));
  return el('div', {}, el('h1', { tabindex: -1 }, 'Sign in'), said,
    el('p', {}, 'The link that gantry serve prints signs a browser in once. Without it, give the token.'), form);
}
