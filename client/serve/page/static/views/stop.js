// Stops a lease, after saying what that does.
import { ask } from '../api.js';
import { confirmed } from '../dialog.js';
import { describe, el, say } from '../dom.js';
import { amount, micro, problem, span, usdc } from '../show.js';

const live = ['awarded', 'running'];

// stopButton is nothing where the lease is over.
export function stopButton(l, done) {
  if (!live.includes(l.status)) return null;
  const failure = el('div');
  const button = el('button', { type: 'button', class: 'danger', 'data-key': `stop-${l.address}`, 'aria-label': `Stop lease ${l.address}` }, 'Stop');
  button.addEventListener('click', async () => {
    const [owed, paid, held] = [micro(l.costAtMost), micro(l.paid), micro(l.reserved)];
    const back = owed === null || paid === null || held === null ? null : held - (owed > paid ? owed - paid : 0n);
    const yes = await confirmed({
      title: 'Stop this lease?', yes: 'Stop the lease', no: 'Let it run', danger: true,
      body: el('div', {}, el('p', {}, 'Its job ends at once, and what is not saved elsewhere is lost. A lease that is stopped cannot be started again.'),
        describe(['Lease', el('code', {}, l.address)], ['Used so far', span(l.usedSeconds)], ['Costs so far, at most', usdc(l.costAtMost)],
          ['Comes back to the credits', back !== null && `about ${usdc(amount(back))}`])),
    });
    if (!yes) return;
    button.setAttribute('disabled', '');
    button.textContent = 'Stopping';
    try {
      const { body } = await ask('POST', `/v1/leases/${encodeURIComponent(l.address)}/stop`);
      say(`The lease is ${body.status}.`);
      await done();
    } catch (err) {
      button.removeAttribute('disabled');
      button.textContent = 'Stop';
      failure.replaceChildren(problem(err));
    }
  });
  return el('div', {}, button, failure);
}
